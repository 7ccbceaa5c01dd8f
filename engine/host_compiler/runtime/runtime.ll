; Made by tools/make_host_runtime.py from the C files of this folder with clang 22.1.8:
; clang --target=x86_64-linux-gnu -std=gnu11 -O2 -Wall -Wextra -Werror -Wno-unused-parameter -ffp-contract=off -fno-strict-aliasing -fno-vectorize -fno-slp-vectorize -fno-unroll-loops -Xclang -no-enable-noundef-analysis -mllvm -indvars-widen-indvars=false -S -emit-llvm
; Attributes of the target are taken away, and every function is called wl.NAME.

define internal void @wl.shfl_up(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %12, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 8192
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 12288
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 155648
  br label %13

12:
  ret void

13:
  %14 = phi i32 [ 0, %6 ], [ %46, %45 ]
  %15 = shl nuw i32 1, %14
  %16 = and i32 %15, %3
  %17 = icmp eq i32 %16, 0
  br i1 %17, label %45, label %18

18:
  %19 = add i32 %14, %1
  %20 = zext i32 %19 to i64
  %21 = getelementptr inbounds nuw i32, ptr %8, i64 %20
  %22 = load i32, ptr %21, align 4
  %23 = and i32 %22, 31
  %24 = getelementptr inbounds nuw i32, ptr %9, i64 %20
  %25 = load i32, ptr %24, align 4
  %26 = and i32 %25, 31
  %27 = lshr i32 %25, 8
  %28 = and i32 %27, 31
  %29 = and i32 %28, %14
  %30 = xor i32 %28, -1
  %31 = and i32 %26, %30
  %32 = or i32 %29, %31
  %33 = sub i32 %14, %23
  %34 = icmp sge i32 %33, %32
  %35 = select i1 %34, i32 %33, i32 %14
  %36 = icmp ult i32 %35, %2
  %37 = select i1 %36, i32 %35, i32 %14
  %38 = add i32 %37, %1
  %39 = zext i32 %38 to i64
  %40 = getelementptr inbounds nuw i32, ptr %7, i64 %39
  %41 = load i32, ptr %40, align 4
  %42 = getelementptr inbounds nuw i32, ptr %10, i64 %20
  store i32 %41, ptr %42, align 4
  %43 = zext i1 %34 to i32
  %44 = getelementptr inbounds nuw i32, ptr %11, i64 %20
  store i32 %43, ptr %44, align 4
  br label %45

45:
  %46 = add nuw i32 %14, 1
  %47 = icmp eq i32 %46, %2
  br i1 %47, label %12, label %13
}

define internal void @wl.shfl_down(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %12, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 8192
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 12288
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 155648
  br label %13

12:
  ret void

13:
  %14 = phi i32 [ 0, %6 ], [ %46, %45 ]
  %15 = shl nuw i32 1, %14
  %16 = and i32 %15, %3
  %17 = icmp eq i32 %16, 0
  br i1 %17, label %45, label %18

18:
  %19 = add i32 %14, %1
  %20 = zext i32 %19 to i64
  %21 = getelementptr inbounds nuw i32, ptr %8, i64 %20
  %22 = load i32, ptr %21, align 4
  %23 = and i32 %22, 31
  %24 = getelementptr inbounds nuw i32, ptr %9, i64 %20
  %25 = load i32, ptr %24, align 4
  %26 = and i32 %25, 31
  %27 = lshr i32 %25, 8
  %28 = and i32 %27, 31
  %29 = and i32 %28, %14
  %30 = xor i32 %28, -1
  %31 = and i32 %26, %30
  %32 = or i32 %29, %31
  %33 = add i32 %23, %14
  %34 = icmp sle i32 %33, %32
  %35 = select i1 %34, i32 %33, i32 %14
  %36 = icmp ult i32 %35, %2
  %37 = select i1 %36, i32 %35, i32 %14
  %38 = add i32 %37, %1
  %39 = zext i32 %38 to i64
  %40 = getelementptr inbounds nuw i32, ptr %7, i64 %39
  %41 = load i32, ptr %40, align 4
  %42 = getelementptr inbounds nuw i32, ptr %10, i64 %20
  store i32 %41, ptr %42, align 4
  %43 = zext i1 %34 to i32
  %44 = getelementptr inbounds nuw i32, ptr %11, i64 %20
  store i32 %43, ptr %44, align 4
  br label %45

45:
  %46 = add nuw i32 %14, 1
  %47 = icmp eq i32 %46, %2
  br i1 %47, label %12, label %13
}

define internal void @wl.shfl_bfly(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %12, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 8192
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 12288
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 155648
  br label %13

12:
  ret void

13:
  %14 = phi i32 [ 0, %6 ], [ %46, %45 ]
  %15 = shl nuw i32 1, %14
  %16 = and i32 %15, %3
  %17 = icmp eq i32 %16, 0
  br i1 %17, label %45, label %18

18:
  %19 = add i32 %14, %1
  %20 = zext i32 %19 to i64
  %21 = getelementptr inbounds nuw i32, ptr %8, i64 %20
  %22 = load i32, ptr %21, align 4
  %23 = and i32 %22, 31
  %24 = getelementptr inbounds nuw i32, ptr %9, i64 %20
  %25 = load i32, ptr %24, align 4
  %26 = and i32 %25, 31
  %27 = lshr i32 %25, 8
  %28 = and i32 %27, 31
  %29 = and i32 %28, %14
  %30 = xor i32 %28, -1
  %31 = and i32 %26, %30
  %32 = or i32 %29, %31
  %33 = xor i32 %23, %14
  %34 = icmp sle i32 %33, %32
  %35 = select i1 %34, i32 %33, i32 %14
  %36 = icmp ult i32 %35, %2
  %37 = select i1 %36, i32 %35, i32 %14
  %38 = add i32 %37, %1
  %39 = zext i32 %38 to i64
  %40 = getelementptr inbounds nuw i32, ptr %7, i64 %39
  %41 = load i32, ptr %40, align 4
  %42 = getelementptr inbounds nuw i32, ptr %10, i64 %20
  store i32 %41, ptr %42, align 4
  %43 = zext i1 %34 to i32
  %44 = getelementptr inbounds nuw i32, ptr %11, i64 %20
  store i32 %43, ptr %44, align 4
  br label %45

45:
  %46 = add nuw i32 %14, 1
  %47 = icmp eq i32 %46, %2
  br i1 %47, label %12, label %13
}

define internal void @wl.shfl_idx(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %12, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 8192
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 12288
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 155648
  br label %13

12:
  ret void

13:
  %14 = phi i32 [ 0, %6 ], [ %45, %44 ]
  %15 = shl nuw i32 1, %14
  %16 = and i32 %15, %3
  %17 = icmp eq i32 %16, 0
  br i1 %17, label %44, label %18

18:
  %19 = add i32 %14, %1
  %20 = zext i32 %19 to i64
  %21 = getelementptr inbounds nuw i32, ptr %8, i64 %20
  %22 = load i32, ptr %21, align 4
  %23 = getelementptr inbounds nuw i32, ptr %9, i64 %20
  %24 = load i32, ptr %23, align 4
  %25 = lshr i32 %24, 8
  %26 = and i32 %25, 31
  %27 = and i32 %26, %14
  %28 = xor i32 %26, 31
  %29 = and i32 %28, %24
  %30 = or i32 %27, %29
  %31 = and i32 %28, %22
  %32 = or i32 %27, %31
  %33 = icmp samesign ule i32 %32, %30
  %34 = select i1 %33, i32 %32, i32 %14
  %35 = icmp ult i32 %34, %2
  %36 = select i1 %35, i32 %34, i32 %14
  %37 = add i32 %36, %1
  %38 = zext i32 %37 to i64
  %39 = getelementptr inbounds nuw i32, ptr %7, i64 %38
  %40 = load i32, ptr %39, align 4
  %41 = getelementptr inbounds nuw i32, ptr %10, i64 %20
  store i32 %40, ptr %41, align 4
  %42 = zext i1 %33 to i32
  %43 = getelementptr inbounds nuw i32, ptr %11, i64 %20
  store i32 %42, ptr %43, align 4
  br label %44

44:
  %45 = add nuw i32 %14, 1
  %46 = icmp eq i32 %45, %2
  br i1 %46, label %12, label %13
}

define internal void @wl.shuffle_by(ptr %0, i32 %1, i32 %2, i32 %3, i32 %4, i32 %5, i32 %6, ptr readonly captures(none) %7) minsize noinline nounwind {
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %10 = zext i32 %4 to i64
  %11 = getelementptr inbounds nuw [1024 x i32], ptr %9, i64 %10
  %12 = getelementptr inbounds nuw i8, ptr %0, i64 8192
  %13 = getelementptr inbounds nuw i8, ptr %0, i64 12288
  br label %14

14:
  %15 = phi i32 [ 0, %8 ], [ %31, %30 ]
  %16 = icmp eq i32 %15, %2
  br i1 %16, label %17, label %18

17:
  tail call void %7(ptr %0, i32 %1, i32 %2, i32 %3) nounwind
  ret void

18:
  %19 = shl nuw i32 1, %15
  %20 = and i32 %19, %3
  %21 = icmp eq i32 %20, 0
  br i1 %21, label %30, label %22

22:
  %23 = add i32 %15, %1
  %24 = zext i32 %23 to i64
  %25 = getelementptr inbounds nuw i32, ptr %11, i64 %24
  %26 = load i32, ptr %25, align 4
  %27 = getelementptr inbounds nuw i32, ptr %9, i64 %24
  store i32 %26, ptr %27, align 4
  %28 = getelementptr inbounds nuw i32, ptr %12, i64 %24
  store i32 %5, ptr %28, align 4
  %29 = getelementptr inbounds nuw i32, ptr %13, i64 %24
  store i32 %6, ptr %29, align 4
  br label %30

30:
  %31 = add i32 %15, 1
  br label %14
}

define internal void @wl.vote_ballot(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %3, -1
  br i1 %5, label %10, label %6

6:
  %7 = icmp eq i32 %2, 0
  br i1 %7, label %51, label %8

8:
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  br label %38

10:
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %12 = zext i32 %1 to i64
  %13 = getelementptr inbounds nuw i32, ptr %11, i64 %12
  %14 = load <32 x i32>, ptr %13, align 4
  %15 = icmp ne <32 x i32> %14, zeroinitializer
  %16 = bitcast <32 x i1> %15 to i32
  %17 = insertelement <32 x i32> poison, i32 %16, i64 0
  %18 = shufflevector <32 x i32> %17, <32 x i32> poison, <32 x i32> zeroinitializer
  %19 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %20 = getelementptr inbounds nuw i32, ptr %19, i64 %12
  store <32 x i32> %18, ptr %20, align 4
  br label %51

21:
  %22 = and i32 %48, %3
  %23 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  br label %24

24:
  %25 = phi i32 [ 0, %21 ], [ %36, %34 ]
  %26 = add i32 %25, %1
  %27 = zext i32 %26 to i64
  %28 = getelementptr inbounds nuw i32, ptr %23, i64 %27
  %29 = shl nuw i32 1, %25
  %30 = and i32 %29, %3
  %31 = icmp eq i32 %30, 0
  br i1 %31, label %32, label %34

32:
  %33 = load i32, ptr %28, align 4
  br label %34

34:
  %35 = phi i32 [ %33, %32 ], [ %22, %24 ]
  store i32 %35, ptr %28, align 4
  %36 = add nuw i32 %25, 1
  %37 = icmp eq i32 %36, %2
  br i1 %37, label %51, label %24

38:
  %39 = phi i32 [ 0, %8 ], [ %49, %38 ]
  %40 = phi i32 [ 0, %8 ], [ %48, %38 ]
  %41 = add i32 %39, %1
  %42 = zext i32 %41 to i64
  %43 = getelementptr inbounds nuw i32, ptr %9, i64 %42
  %44 = load i32, ptr %43, align 4
  %45 = icmp ne i32 %44, 0
  %46 = zext i1 %45 to i32
  %47 = shl nuw i32 %46, %39
  %48 = or i32 %47, %40
  %49 = add nuw i32 %39, 1
  %50 = icmp eq i32 %49, %2
  br i1 %50, label %21, label %38

51:
  ret void
}

define internal void @wl.vote_any(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %3, -1
  br i1 %5, label %10, label %6

6:
  %7 = icmp eq i32 %2, 0
  br i1 %7, label %55, label %8

8:
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  br label %42

10:
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %12 = zext i32 %1 to i64
  %13 = getelementptr inbounds nuw i32, ptr %11, i64 %12
  %14 = load <32 x i32>, ptr %13, align 4
  %15 = icmp ne <32 x i32> %14, zeroinitializer
  %16 = bitcast <32 x i1> %15 to i32
  %17 = icmp ne i32 %16, 0
  %18 = zext i1 %17 to i32
  %19 = insertelement <32 x i32> poison, i32 %18, i64 0
  %20 = shufflevector <32 x i32> %19, <32 x i32> poison, <32 x i32> zeroinitializer
  %21 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %22 = getelementptr inbounds nuw i32, ptr %21, i64 %12
  store <32 x i32> %20, ptr %22, align 4
  br label %55

23:
  %24 = and i32 %52, %3
  %25 = icmp ne i32 %24, 0
  %26 = zext i1 %25 to i32
  %27 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  br label %28

28:
  %29 = phi i32 [ 0, %23 ], [ %40, %38 ]
  %30 = add i32 %29, %1
  %31 = zext i32 %30 to i64
  %32 = getelementptr inbounds nuw i32, ptr %27, i64 %31
  %33 = shl nuw i32 1, %29
  %34 = and i32 %33, %3
  %35 = icmp eq i32 %34, 0
  br i1 %35, label %36, label %38

36:
  %37 = load i32, ptr %32, align 4
  br label %38

38:
  %39 = phi i32 [ %37, %36 ], [ %26, %28 ]
  store i32 %39, ptr %32, align 4
  %40 = add nuw i32 %29, 1
  %41 = icmp eq i32 %40, %2
  br i1 %41, label %55, label %28

42:
  %43 = phi i32 [ 0, %8 ], [ %53, %42 ]
  %44 = phi i32 [ 0, %8 ], [ %52, %42 ]
  %45 = add i32 %43, %1
  %46 = zext i32 %45 to i64
  %47 = getelementptr inbounds nuw i32, ptr %9, i64 %46
  %48 = load i32, ptr %47, align 4
  %49 = icmp ne i32 %48, 0
  %50 = zext i1 %49 to i32
  %51 = shl nuw i32 %50, %43
  %52 = or i32 %51, %44
  %53 = add nuw i32 %43, 1
  %54 = icmp eq i32 %53, %2
  br i1 %54, label %23, label %42

55:
  ret void
}

define internal void @wl.vote_all(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %3, -1
  br i1 %5, label %10, label %6

6:
  %7 = icmp eq i32 %2, 0
  br i1 %7, label %55, label %8

8:
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  br label %42

10:
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %12 = zext i32 %1 to i64
  %13 = getelementptr inbounds nuw i32, ptr %11, i64 %12
  %14 = load <32 x i32>, ptr %13, align 4
  %15 = icmp eq <32 x i32> %14, zeroinitializer
  %16 = bitcast <32 x i1> %15 to i32
  %17 = icmp eq i32 %16, 0
  %18 = zext i1 %17 to i32
  %19 = insertelement <32 x i32> poison, i32 %18, i64 0
  %20 = shufflevector <32 x i32> %19, <32 x i32> poison, <32 x i32> zeroinitializer
  %21 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %22 = getelementptr inbounds nuw i32, ptr %21, i64 %12
  store <32 x i32> %20, ptr %22, align 4
  br label %55

23:
  %24 = and i32 %52, %3
  %25 = icmp eq i32 %24, %3
  %26 = zext i1 %25 to i32
  %27 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  br label %28

28:
  %29 = phi i32 [ 0, %23 ], [ %40, %38 ]
  %30 = add i32 %29, %1
  %31 = zext i32 %30 to i64
  %32 = getelementptr inbounds nuw i32, ptr %27, i64 %31
  %33 = shl nuw i32 1, %29
  %34 = and i32 %33, %3
  %35 = icmp eq i32 %34, 0
  br i1 %35, label %36, label %38

36:
  %37 = load i32, ptr %32, align 4
  br label %38

38:
  %39 = phi i32 [ %37, %36 ], [ %26, %28 ]
  store i32 %39, ptr %32, align 4
  %40 = add nuw i32 %29, 1
  %41 = icmp eq i32 %40, %2
  br i1 %41, label %55, label %28

42:
  %43 = phi i32 [ 0, %8 ], [ %53, %42 ]
  %44 = phi i32 [ 0, %8 ], [ %52, %42 ]
  %45 = add i32 %43, %1
  %46 = zext i32 %45 to i64
  %47 = getelementptr inbounds nuw i32, ptr %9, i64 %46
  %48 = load i32, ptr %47, align 4
  %49 = icmp ne i32 %48, 0
  %50 = zext i1 %49 to i32
  %51 = shl nuw i32 %50, %43
  %52 = or i32 %51, %44
  %53 = add nuw i32 %43, 1
  %54 = icmp eq i32 %53, %2
  br i1 %54, label %23, label %42

55:
  ret void
}

define internal void @wl.vote_uni(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %3, -1
  br i1 %5, label %10, label %6

6:
  %7 = icmp eq i32 %2, 0
  br i1 %7, label %58, label %8

8:
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  br label %45

10:
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %12 = zext i32 %1 to i64
  %13 = getelementptr inbounds nuw i32, ptr %11, i64 %12
  %14 = load <32 x i32>, ptr %13, align 4
  %15 = icmp ne <32 x i32> %14, zeroinitializer
  %16 = bitcast <32 x i1> %15 to i32
  %17 = add i32 %16, 1
  %18 = icmp ult i32 %17, 2
  %19 = zext i1 %18 to i32
  %20 = insertelement <32 x i32> poison, i32 %19, i64 0
  %21 = shufflevector <32 x i32> %20, <32 x i32> poison, <32 x i32> zeroinitializer
  %22 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %23 = getelementptr inbounds nuw i32, ptr %22, i64 %12
  store <32 x i32> %21, ptr %23, align 4
  br label %58

24:
  %25 = and i32 %55, %3
  %26 = icmp eq i32 %25, %3
  %27 = icmp eq i32 %25, 0
  %28 = or i1 %26, %27
  %29 = zext i1 %28 to i32
  %30 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  br label %31

31:
  %32 = phi i32 [ 0, %24 ], [ %43, %41 ]
  %33 = add i32 %32, %1
  %34 = zext i32 %33 to i64
  %35 = getelementptr inbounds nuw i32, ptr %30, i64 %34
  %36 = shl nuw i32 1, %32
  %37 = and i32 %36, %3
  %38 = icmp eq i32 %37, 0
  br i1 %38, label %39, label %41

39:
  %40 = load i32, ptr %35, align 4
  br label %41

41:
  %42 = phi i32 [ %40, %39 ], [ %29, %31 ]
  store i32 %42, ptr %35, align 4
  %43 = add nuw i32 %32, 1
  %44 = icmp eq i32 %43, %2
  br i1 %44, label %58, label %31

45:
  %46 = phi i32 [ 0, %8 ], [ %56, %45 ]
  %47 = phi i32 [ 0, %8 ], [ %55, %45 ]
  %48 = add i32 %46, %1
  %49 = zext i32 %48 to i64
  %50 = getelementptr inbounds nuw i32, ptr %9, i64 %49
  %51 = load i32, ptr %50, align 4
  %52 = icmp ne i32 %51, 0
  %53 = zext i1 %52 to i32
  %54 = shl nuw i32 %53, %46
  %55 = or i32 %54, %47
  %56 = add nuw i32 %46, 1
  %57 = icmp eq i32 %56, %2
  br i1 %57, label %24, label %45

58:
  ret void
}

define internal void @wl.redux_add(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %24, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  br label %25

8:
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  br label %10

10:
  %11 = phi i32 [ 0, %8 ], [ %22, %20 ]
  %12 = add i32 %11, %1
  %13 = zext i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr %9, i64 %13
  %15 = shl nuw i32 1, %11
  %16 = and i32 %15, %3
  %17 = icmp eq i32 %16, 0
  br i1 %17, label %18, label %20

18:
  %19 = load i32, ptr %14, align 4
  br label %20

20:
  %21 = phi i32 [ %19, %18 ], [ %38, %10 ]
  store i32 %21, ptr %14, align 4
  %22 = add nuw i32 %11, 1
  %23 = icmp eq i32 %22, %2
  br i1 %23, label %24, label %10

24:
  ret void

25:
  %26 = phi i32 [ 0, %6 ], [ %38, %37 ]
  %27 = phi i32 [ 0, %6 ], [ %39, %37 ]
  %28 = shl nuw i32 1, %27
  %29 = and i32 %28, %3
  %30 = icmp eq i32 %29, 0
  br i1 %30, label %37, label %31

31:
  %32 = add i32 %27, %1
  %33 = zext i32 %32 to i64
  %34 = getelementptr inbounds nuw i32, ptr %7, i64 %33
  %35 = load i32, ptr %34, align 4
  %36 = add i32 %35, %26
  br label %37

37:
  %38 = phi i32 [ %36, %31 ], [ %26, %25 ]
  %39 = add nuw i32 %27, 1
  %40 = icmp eq i32 %39, %2
  br i1 %40, label %8, label %25
}

define internal void @wl.redux_and(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %24, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  br label %25

8:
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  br label %10

10:
  %11 = phi i32 [ 0, %8 ], [ %22, %20 ]
  %12 = add i32 %11, %1
  %13 = zext i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr %9, i64 %13
  %15 = shl nuw i32 1, %11
  %16 = and i32 %15, %3
  %17 = icmp eq i32 %16, 0
  br i1 %17, label %18, label %20

18:
  %19 = load i32, ptr %14, align 4
  br label %20

20:
  %21 = phi i32 [ %19, %18 ], [ %38, %10 ]
  store i32 %21, ptr %14, align 4
  %22 = add nuw i32 %11, 1
  %23 = icmp eq i32 %22, %2
  br i1 %23, label %24, label %10

24:
  ret void

25:
  %26 = phi i32 [ -1, %6 ], [ %38, %37 ]
  %27 = phi i32 [ 0, %6 ], [ %39, %37 ]
  %28 = shl nuw i32 1, %27
  %29 = and i32 %28, %3
  %30 = icmp eq i32 %29, 0
  br i1 %30, label %37, label %31

31:
  %32 = add i32 %27, %1
  %33 = zext i32 %32 to i64
  %34 = getelementptr inbounds nuw i32, ptr %7, i64 %33
  %35 = load i32, ptr %34, align 4
  %36 = and i32 %35, %26
  br label %37

37:
  %38 = phi i32 [ %36, %31 ], [ %26, %25 ]
  %39 = add nuw i32 %27, 1
  %40 = icmp eq i32 %39, %2
  br i1 %40, label %8, label %25
}

define internal void @wl.redux_or(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %24, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  br label %25

8:
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  br label %10

10:
  %11 = phi i32 [ 0, %8 ], [ %22, %20 ]
  %12 = add i32 %11, %1
  %13 = zext i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr %9, i64 %13
  %15 = shl nuw i32 1, %11
  %16 = and i32 %15, %3
  %17 = icmp eq i32 %16, 0
  br i1 %17, label %18, label %20

18:
  %19 = load i32, ptr %14, align 4
  br label %20

20:
  %21 = phi i32 [ %19, %18 ], [ %38, %10 ]
  store i32 %21, ptr %14, align 4
  %22 = add nuw i32 %11, 1
  %23 = icmp eq i32 %22, %2
  br i1 %23, label %24, label %10

24:
  ret void

25:
  %26 = phi i32 [ 0, %6 ], [ %38, %37 ]
  %27 = phi i32 [ 0, %6 ], [ %39, %37 ]
  %28 = shl nuw i32 1, %27
  %29 = and i32 %28, %3
  %30 = icmp eq i32 %29, 0
  br i1 %30, label %37, label %31

31:
  %32 = add i32 %27, %1
  %33 = zext i32 %32 to i64
  %34 = getelementptr inbounds nuw i32, ptr %7, i64 %33
  %35 = load i32, ptr %34, align 4
  %36 = or i32 %35, %26
  br label %37

37:
  %38 = phi i32 [ %36, %31 ], [ %26, %25 ]
  %39 = add nuw i32 %27, 1
  %40 = icmp eq i32 %39, %2
  br i1 %40, label %8, label %25
}

define internal void @wl.redux_xor(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %24, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  br label %25

8:
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  br label %10

10:
  %11 = phi i32 [ 0, %8 ], [ %22, %20 ]
  %12 = add i32 %11, %1
  %13 = zext i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr %9, i64 %13
  %15 = shl nuw i32 1, %11
  %16 = and i32 %15, %3
  %17 = icmp eq i32 %16, 0
  br i1 %17, label %18, label %20

18:
  %19 = load i32, ptr %14, align 4
  br label %20

20:
  %21 = phi i32 [ %19, %18 ], [ %38, %10 ]
  store i32 %21, ptr %14, align 4
  %22 = add nuw i32 %11, 1
  %23 = icmp eq i32 %22, %2
  br i1 %23, label %24, label %10

24:
  ret void

25:
  %26 = phi i32 [ 0, %6 ], [ %38, %37 ]
  %27 = phi i32 [ 0, %6 ], [ %39, %37 ]
  %28 = shl nuw i32 1, %27
  %29 = and i32 %28, %3
  %30 = icmp eq i32 %29, 0
  br i1 %30, label %37, label %31

31:
  %32 = add i32 %27, %1
  %33 = zext i32 %32 to i64
  %34 = getelementptr inbounds nuw i32, ptr %7, i64 %33
  %35 = load i32, ptr %34, align 4
  %36 = xor i32 %35, %26
  br label %37

37:
  %38 = phi i32 [ %36, %31 ], [ %26, %25 ]
  %39 = add nuw i32 %27, 1
  %40 = icmp eq i32 %39, %2
  br i1 %40, label %8, label %25
}

define internal void @wl.redux_umin(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %24, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  br label %25

8:
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  br label %10

10:
  %11 = phi i32 [ 0, %8 ], [ %22, %20 ]
  %12 = add i32 %11, %1
  %13 = zext i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr %9, i64 %13
  %15 = shl nuw i32 1, %11
  %16 = and i32 %15, %3
  %17 = icmp eq i32 %16, 0
  br i1 %17, label %18, label %20

18:
  %19 = load i32, ptr %14, align 4
  br label %20

20:
  %21 = phi i32 [ %19, %18 ], [ %38, %10 ]
  store i32 %21, ptr %14, align 4
  %22 = add nuw i32 %11, 1
  %23 = icmp eq i32 %22, %2
  br i1 %23, label %24, label %10

24:
  ret void

25:
  %26 = phi i32 [ -1, %6 ], [ %38, %37 ]
  %27 = phi i32 [ 0, %6 ], [ %39, %37 ]
  %28 = shl nuw i32 1, %27
  %29 = and i32 %28, %3
  %30 = icmp eq i32 %29, 0
  br i1 %30, label %37, label %31

31:
  %32 = add i32 %27, %1
  %33 = zext i32 %32 to i64
  %34 = getelementptr inbounds nuw i32, ptr %7, i64 %33
  %35 = load i32, ptr %34, align 4
  %36 = tail call i32 @llvm.umin.i32(i32 %35, i32 %26)
  br label %37

37:
  %38 = phi i32 [ %36, %31 ], [ %26, %25 ]
  %39 = add nuw i32 %27, 1
  %40 = icmp eq i32 %39, %2
  br i1 %40, label %8, label %25
}

define internal void @wl.redux_umax(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %24, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  br label %25

8:
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  br label %10

10:
  %11 = phi i32 [ 0, %8 ], [ %22, %20 ]
  %12 = add i32 %11, %1
  %13 = zext i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr %9, i64 %13
  %15 = shl nuw i32 1, %11
  %16 = and i32 %15, %3
  %17 = icmp eq i32 %16, 0
  br i1 %17, label %18, label %20

18:
  %19 = load i32, ptr %14, align 4
  br label %20

20:
  %21 = phi i32 [ %19, %18 ], [ %38, %10 ]
  store i32 %21, ptr %14, align 4
  %22 = add nuw i32 %11, 1
  %23 = icmp eq i32 %22, %2
  br i1 %23, label %24, label %10

24:
  ret void

25:
  %26 = phi i32 [ 0, %6 ], [ %38, %37 ]
  %27 = phi i32 [ 0, %6 ], [ %39, %37 ]
  %28 = shl nuw i32 1, %27
  %29 = and i32 %28, %3
  %30 = icmp eq i32 %29, 0
  br i1 %30, label %37, label %31

31:
  %32 = add i32 %27, %1
  %33 = zext i32 %32 to i64
  %34 = getelementptr inbounds nuw i32, ptr %7, i64 %33
  %35 = load i32, ptr %34, align 4
  %36 = tail call i32 @llvm.umax.i32(i32 %35, i32 %26)
  br label %37

37:
  %38 = phi i32 [ %36, %31 ], [ %26, %25 ]
  %39 = add nuw i32 %27, 1
  %40 = icmp eq i32 %39, %2
  br i1 %40, label %8, label %25
}

define internal void @wl.redux_smin(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %24, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  br label %25

8:
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  br label %10

10:
  %11 = phi i32 [ 0, %8 ], [ %22, %20 ]
  %12 = add i32 %11, %1
  %13 = zext i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr %9, i64 %13
  %15 = shl nuw i32 1, %11
  %16 = and i32 %15, %3
  %17 = icmp eq i32 %16, 0
  br i1 %17, label %18, label %20

18:
  %19 = load i32, ptr %14, align 4
  br label %20

20:
  %21 = phi i32 [ %19, %18 ], [ %38, %10 ]
  store i32 %21, ptr %14, align 4
  %22 = add nuw i32 %11, 1
  %23 = icmp eq i32 %22, %2
  br i1 %23, label %24, label %10

24:
  ret void

25:
  %26 = phi i32 [ 2147483647, %6 ], [ %38, %37 ]
  %27 = phi i32 [ 0, %6 ], [ %39, %37 ]
  %28 = shl nuw i32 1, %27
  %29 = and i32 %28, %3
  %30 = icmp eq i32 %29, 0
  br i1 %30, label %37, label %31

31:
  %32 = add i32 %27, %1
  %33 = zext i32 %32 to i64
  %34 = getelementptr inbounds nuw i32, ptr %7, i64 %33
  %35 = load i32, ptr %34, align 4
  %36 = tail call i32 @llvm.smin.i32(i32 %35, i32 %26)
  br label %37

37:
  %38 = phi i32 [ %36, %31 ], [ %26, %25 ]
  %39 = add nuw i32 %27, 1
  %40 = icmp eq i32 %39, %2
  br i1 %40, label %8, label %25
}

define internal void @wl.redux_smax(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %24, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  br label %25

8:
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  br label %10

10:
  %11 = phi i32 [ 0, %8 ], [ %22, %20 ]
  %12 = add i32 %11, %1
  %13 = zext i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr %9, i64 %13
  %15 = shl nuw i32 1, %11
  %16 = and i32 %15, %3
  %17 = icmp eq i32 %16, 0
  br i1 %17, label %18, label %20

18:
  %19 = load i32, ptr %14, align 4
  br label %20

20:
  %21 = phi i32 [ %19, %18 ], [ %38, %10 ]
  store i32 %21, ptr %14, align 4
  %22 = add nuw i32 %11, 1
  %23 = icmp eq i32 %22, %2
  br i1 %23, label %24, label %10

24:
  ret void

25:
  %26 = phi i32 [ -2147483648, %6 ], [ %38, %37 ]
  %27 = phi i32 [ 0, %6 ], [ %39, %37 ]
  %28 = shl nuw i32 1, %27
  %29 = and i32 %28, %3
  %30 = icmp eq i32 %29, 0
  br i1 %30, label %37, label %31

31:
  %32 = add i32 %27, %1
  %33 = zext i32 %32 to i64
  %34 = getelementptr inbounds nuw i32, ptr %7, i64 %33
  %35 = load i32, ptr %34, align 4
  %36 = tail call i32 @llvm.smax.i32(i32 %35, i32 %26)
  br label %37

37:
  %38 = phi i32 [ %36, %31 ], [ %26, %25 ]
  %39 = add nuw i32 %27, 1
  %40 = icmp eq i32 %39, %2
  br i1 %40, label %8, label %25
}

define internal void @wl.redux_fmin(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %27, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  br label %28

8:
  %9 = bitcast i32 %43 to float
  %10 = fcmp uno float %9, 0.000000e+00
  %11 = select i1 %10, i32 2147483647, i32 %43
  %12 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  br label %13

13:
  %14 = phi i32 [ 0, %8 ], [ %25, %23 ]
  %15 = add i32 %14, %1
  %16 = zext i32 %15 to i64
  %17 = getelementptr inbounds nuw i32, ptr %12, i64 %16
  %18 = shl nuw i32 1, %14
  %19 = and i32 %18, %3
  %20 = icmp eq i32 %19, 0
  br i1 %20, label %21, label %23

21:
  %22 = load i32, ptr %17, align 4
  br label %23

23:
  %24 = phi i32 [ %22, %21 ], [ %11, %13 ]
  store i32 %24, ptr %17, align 4
  %25 = add nuw i32 %14, 1
  %26 = icmp eq i32 %25, %2
  br i1 %26, label %27, label %13

27:
  ret void

28:
  %29 = phi i32 [ 2147483647, %6 ], [ %43, %42 ]
  %30 = phi i32 [ 0, %6 ], [ %44, %42 ]
  %31 = shl nuw i32 1, %30
  %32 = and i32 %31, %3
  %33 = icmp eq i32 %32, 0
  br i1 %33, label %42, label %34

34:
  %35 = add i32 %30, %1
  %36 = zext i32 %35 to i64
  %37 = getelementptr inbounds nuw i32, ptr %7, i64 %36
  %38 = load float, ptr %37, align 4
  %39 = bitcast i32 %29 to float
  %40 = tail call float @llvm.minimumnum.f32(float %39, float %38)
  %41 = bitcast float %40 to i32
  br label %42

42:
  %43 = phi i32 [ %41, %34 ], [ %29, %28 ]
  %44 = add nuw i32 %30, 1
  %45 = icmp eq i32 %44, %2
  br i1 %45, label %8, label %28
}

define internal void @wl.redux_fmin_abs(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %27, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  br label %28

8:
  %9 = bitcast i32 %44 to float
  %10 = fcmp uno float %9, 0.000000e+00
  %11 = select i1 %10, i32 2147483647, i32 %44
  %12 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  br label %13

13:
  %14 = phi i32 [ 0, %8 ], [ %25, %23 ]
  %15 = add i32 %14, %1
  %16 = zext i32 %15 to i64
  %17 = getelementptr inbounds nuw i32, ptr %12, i64 %16
  %18 = shl nuw i32 1, %14
  %19 = and i32 %18, %3
  %20 = icmp eq i32 %19, 0
  br i1 %20, label %21, label %23

21:
  %22 = load i32, ptr %17, align 4
  br label %23

23:
  %24 = phi i32 [ %22, %21 ], [ %11, %13 ]
  store i32 %24, ptr %17, align 4
  %25 = add nuw i32 %14, 1
  %26 = icmp eq i32 %25, %2
  br i1 %26, label %27, label %13

27:
  ret void

28:
  %29 = phi i32 [ 2147483647, %6 ], [ %44, %43 ]
  %30 = phi i32 [ 0, %6 ], [ %45, %43 ]
  %31 = shl nuw i32 1, %30
  %32 = and i32 %31, %3
  %33 = icmp eq i32 %32, 0
  br i1 %33, label %43, label %34

34:
  %35 = add i32 %30, %1
  %36 = zext i32 %35 to i64
  %37 = getelementptr inbounds nuw i32, ptr %7, i64 %36
  %38 = load float, ptr %37, align 4
  %39 = bitcast i32 %29 to float
  %40 = tail call float @llvm.fabs.f32(float %38)
  %41 = tail call float @llvm.minimumnum.f32(float %39, float %40)
  %42 = bitcast float %41 to i32
  br label %43

43:
  %44 = phi i32 [ %42, %34 ], [ %29, %28 ]
  %45 = add nuw i32 %30, 1
  %46 = icmp eq i32 %45, %2
  br i1 %46, label %8, label %28
}

define internal void @wl.redux_fmin_NaN(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %27, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  br label %28

8:
  %9 = bitcast i32 %43 to float
  %10 = fcmp uno float %9, 0.000000e+00
  %11 = select i1 %10, i32 2147483647, i32 %43
  %12 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  br label %13

13:
  %14 = phi i32 [ 0, %8 ], [ %25, %23 ]
  %15 = add i32 %14, %1
  %16 = zext i32 %15 to i64
  %17 = getelementptr inbounds nuw i32, ptr %12, i64 %16
  %18 = shl nuw i32 1, %14
  %19 = and i32 %18, %3
  %20 = icmp eq i32 %19, 0
  br i1 %20, label %21, label %23

21:
  %22 = load i32, ptr %17, align 4
  br label %23

23:
  %24 = phi i32 [ %22, %21 ], [ %11, %13 ]
  store i32 %24, ptr %17, align 4
  %25 = add nuw i32 %14, 1
  %26 = icmp eq i32 %25, %2
  br i1 %26, label %27, label %13

27:
  ret void

28:
  %29 = phi i32 [ 2139095040, %6 ], [ %43, %42 ]
  %30 = phi i32 [ 0, %6 ], [ %44, %42 ]
  %31 = shl nuw i32 1, %30
  %32 = and i32 %31, %3
  %33 = icmp eq i32 %32, 0
  br i1 %33, label %42, label %34

34:
  %35 = add i32 %30, %1
  %36 = zext i32 %35 to i64
  %37 = getelementptr inbounds nuw i32, ptr %7, i64 %36
  %38 = load float, ptr %37, align 4
  %39 = bitcast i32 %29 to float
  %40 = tail call float @llvm.minimum.f32(float %39, float %38)
  %41 = bitcast float %40 to i32
  br label %42

42:
  %43 = phi i32 [ %41, %34 ], [ %29, %28 ]
  %44 = add nuw i32 %30, 1
  %45 = icmp eq i32 %44, %2
  br i1 %45, label %8, label %28
}

define internal void @wl.redux_fmin_abs_NaN(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %27, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  br label %28

8:
  %9 = bitcast i32 %44 to float
  %10 = fcmp uno float %9, 0.000000e+00
  %11 = select i1 %10, i32 2147483647, i32 %44
  %12 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  br label %13

13:
  %14 = phi i32 [ 0, %8 ], [ %25, %23 ]
  %15 = add i32 %14, %1
  %16 = zext i32 %15 to i64
  %17 = getelementptr inbounds nuw i32, ptr %12, i64 %16
  %18 = shl nuw i32 1, %14
  %19 = and i32 %18, %3
  %20 = icmp eq i32 %19, 0
  br i1 %20, label %21, label %23

21:
  %22 = load i32, ptr %17, align 4
  br label %23

23:
  %24 = phi i32 [ %22, %21 ], [ %11, %13 ]
  store i32 %24, ptr %17, align 4
  %25 = add nuw i32 %14, 1
  %26 = icmp eq i32 %25, %2
  br i1 %26, label %27, label %13

27:
  ret void

28:
  %29 = phi i32 [ 2139095040, %6 ], [ %44, %43 ]
  %30 = phi i32 [ 0, %6 ], [ %45, %43 ]
  %31 = shl nuw i32 1, %30
  %32 = and i32 %31, %3
  %33 = icmp eq i32 %32, 0
  br i1 %33, label %43, label %34

34:
  %35 = add i32 %30, %1
  %36 = zext i32 %35 to i64
  %37 = getelementptr inbounds nuw i32, ptr %7, i64 %36
  %38 = load float, ptr %37, align 4
  %39 = bitcast i32 %29 to float
  %40 = tail call float @llvm.fabs.f32(float %38)
  %41 = tail call float @llvm.minimum.f32(float %39, float %40)
  %42 = bitcast float %41 to i32
  br label %43

43:
  %44 = phi i32 [ %42, %34 ], [ %29, %28 ]
  %45 = add nuw i32 %30, 1
  %46 = icmp eq i32 %45, %2
  br i1 %46, label %8, label %28
}

define internal void @wl.redux_fmax(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %27, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  br label %28

8:
  %9 = bitcast i32 %43 to float
  %10 = fcmp uno float %9, 0.000000e+00
  %11 = select i1 %10, i32 2147483647, i32 %43
  %12 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  br label %13

13:
  %14 = phi i32 [ 0, %8 ], [ %25, %23 ]
  %15 = add i32 %14, %1
  %16 = zext i32 %15 to i64
  %17 = getelementptr inbounds nuw i32, ptr %12, i64 %16
  %18 = shl nuw i32 1, %14
  %19 = and i32 %18, %3
  %20 = icmp eq i32 %19, 0
  br i1 %20, label %21, label %23

21:
  %22 = load i32, ptr %17, align 4
  br label %23

23:
  %24 = phi i32 [ %22, %21 ], [ %11, %13 ]
  store i32 %24, ptr %17, align 4
  %25 = add nuw i32 %14, 1
  %26 = icmp eq i32 %25, %2
  br i1 %26, label %27, label %13

27:
  ret void

28:
  %29 = phi i32 [ 2147483647, %6 ], [ %43, %42 ]
  %30 = phi i32 [ 0, %6 ], [ %44, %42 ]
  %31 = shl nuw i32 1, %30
  %32 = and i32 %31, %3
  %33 = icmp eq i32 %32, 0
  br i1 %33, label %42, label %34

34:
  %35 = add i32 %30, %1
  %36 = zext i32 %35 to i64
  %37 = getelementptr inbounds nuw i32, ptr %7, i64 %36
  %38 = load float, ptr %37, align 4
  %39 = bitcast i32 %29 to float
  %40 = tail call float @llvm.maximumnum.f32(float %39, float %38)
  %41 = bitcast float %40 to i32
  br label %42

42:
  %43 = phi i32 [ %41, %34 ], [ %29, %28 ]
  %44 = add nuw i32 %30, 1
  %45 = icmp eq i32 %44, %2
  br i1 %45, label %8, label %28
}

define internal void @wl.redux_fmax_abs(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %27, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  br label %28

8:
  %9 = bitcast i32 %44 to float
  %10 = fcmp uno float %9, 0.000000e+00
  %11 = select i1 %10, i32 2147483647, i32 %44
  %12 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  br label %13

13:
  %14 = phi i32 [ 0, %8 ], [ %25, %23 ]
  %15 = add i32 %14, %1
  %16 = zext i32 %15 to i64
  %17 = getelementptr inbounds nuw i32, ptr %12, i64 %16
  %18 = shl nuw i32 1, %14
  %19 = and i32 %18, %3
  %20 = icmp eq i32 %19, 0
  br i1 %20, label %21, label %23

21:
  %22 = load i32, ptr %17, align 4
  br label %23

23:
  %24 = phi i32 [ %22, %21 ], [ %11, %13 ]
  store i32 %24, ptr %17, align 4
  %25 = add nuw i32 %14, 1
  %26 = icmp eq i32 %25, %2
  br i1 %26, label %27, label %13

27:
  ret void

28:
  %29 = phi i32 [ 2147483647, %6 ], [ %44, %43 ]
  %30 = phi i32 [ 0, %6 ], [ %45, %43 ]
  %31 = shl nuw i32 1, %30
  %32 = and i32 %31, %3
  %33 = icmp eq i32 %32, 0
  br i1 %33, label %43, label %34

34:
  %35 = add i32 %30, %1
  %36 = zext i32 %35 to i64
  %37 = getelementptr inbounds nuw i32, ptr %7, i64 %36
  %38 = load float, ptr %37, align 4
  %39 = bitcast i32 %29 to float
  %40 = tail call float @llvm.fabs.f32(float %38)
  %41 = tail call float @llvm.maximumnum.f32(float %39, float %40)
  %42 = bitcast float %41 to i32
  br label %43

43:
  %44 = phi i32 [ %42, %34 ], [ %29, %28 ]
  %45 = add nuw i32 %30, 1
  %46 = icmp eq i32 %45, %2
  br i1 %46, label %8, label %28
}

define internal void @wl.redux_fmax_NaN(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %27, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  br label %28

8:
  %9 = bitcast i32 %43 to float
  %10 = fcmp uno float %9, 0.000000e+00
  %11 = select i1 %10, i32 2147483647, i32 %43
  %12 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  br label %13

13:
  %14 = phi i32 [ 0, %8 ], [ %25, %23 ]
  %15 = add i32 %14, %1
  %16 = zext i32 %15 to i64
  %17 = getelementptr inbounds nuw i32, ptr %12, i64 %16
  %18 = shl nuw i32 1, %14
  %19 = and i32 %18, %3
  %20 = icmp eq i32 %19, 0
  br i1 %20, label %21, label %23

21:
  %22 = load i32, ptr %17, align 4
  br label %23

23:
  %24 = phi i32 [ %22, %21 ], [ %11, %13 ]
  store i32 %24, ptr %17, align 4
  %25 = add nuw i32 %14, 1
  %26 = icmp eq i32 %25, %2
  br i1 %26, label %27, label %13

27:
  ret void

28:
  %29 = phi i32 [ -8388608, %6 ], [ %43, %42 ]
  %30 = phi i32 [ 0, %6 ], [ %44, %42 ]
  %31 = shl nuw i32 1, %30
  %32 = and i32 %31, %3
  %33 = icmp eq i32 %32, 0
  br i1 %33, label %42, label %34

34:
  %35 = add i32 %30, %1
  %36 = zext i32 %35 to i64
  %37 = getelementptr inbounds nuw i32, ptr %7, i64 %36
  %38 = load float, ptr %37, align 4
  %39 = bitcast i32 %29 to float
  %40 = tail call float @llvm.maximum.f32(float %39, float %38)
  %41 = bitcast float %40 to i32
  br label %42

42:
  %43 = phi i32 [ %41, %34 ], [ %29, %28 ]
  %44 = add nuw i32 %30, 1
  %45 = icmp eq i32 %44, %2
  br i1 %45, label %8, label %28
}

define internal void @wl.redux_fmax_abs_NaN(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %27, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  br label %28

8:
  %9 = bitcast i32 %44 to float
  %10 = fcmp uno float %9, 0.000000e+00
  %11 = select i1 %10, i32 2147483647, i32 %44
  %12 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  br label %13

13:
  %14 = phi i32 [ 0, %8 ], [ %25, %23 ]
  %15 = add i32 %14, %1
  %16 = zext i32 %15 to i64
  %17 = getelementptr inbounds nuw i32, ptr %12, i64 %16
  %18 = shl nuw i32 1, %14
  %19 = and i32 %18, %3
  %20 = icmp eq i32 %19, 0
  br i1 %20, label %21, label %23

21:
  %22 = load i32, ptr %17, align 4
  br label %23

23:
  %24 = phi i32 [ %22, %21 ], [ %11, %13 ]
  store i32 %24, ptr %17, align 4
  %25 = add nuw i32 %14, 1
  %26 = icmp eq i32 %25, %2
  br i1 %26, label %27, label %13

27:
  ret void

28:
  %29 = phi i32 [ -8388608, %6 ], [ %44, %43 ]
  %30 = phi i32 [ 0, %6 ], [ %45, %43 ]
  %31 = shl nuw i32 1, %30
  %32 = and i32 %31, %3
  %33 = icmp eq i32 %32, 0
  br i1 %33, label %43, label %34

34:
  %35 = add i32 %30, %1
  %36 = zext i32 %35 to i64
  %37 = getelementptr inbounds nuw i32, ptr %7, i64 %36
  %38 = load float, ptr %37, align 4
  %39 = bitcast i32 %29 to float
  %40 = tail call float @llvm.fabs.f32(float %38)
  %41 = tail call float @llvm.maximum.f32(float %39, float %40)
  %42 = bitcast float %41 to i32
  br label %43

43:
  %44 = phi i32 [ %42, %34 ], [ %29, %28 ]
  %45 = add nuw i32 %30, 1
  %46 = icmp eq i32 %45, %2
  br i1 %46, label %8, label %28
}

define internal void @wl.activemask(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %22, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  br label %8

8:
  %9 = phi i32 [ 0, %6 ], [ %20, %18 ]
  %10 = add i32 %9, %1
  %11 = zext i32 %10 to i64
  %12 = getelementptr inbounds nuw i32, ptr %7, i64 %11
  %13 = shl nuw i32 1, %9
  %14 = and i32 %13, %3
  %15 = icmp eq i32 %14, 0
  br i1 %15, label %16, label %18

16:
  %17 = load i32, ptr %12, align 4
  br label %18

18:
  %19 = phi i32 [ %17, %16 ], [ %3, %8 ]
  store i32 %19, ptr %12, align 4
  %20 = add nuw i32 %9, 1
  %21 = icmp eq i32 %20, %2
  br i1 %21, label %22, label %8

22:
  ret void
}

define internal void @wl.elect(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %3, i1 true)
  %6 = icmp eq i32 %2, 0
  br i1 %6, label %25, label %7

7:
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  br label %11

9:
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 155648
  br label %26

11:
  %12 = phi i32 [ 0, %7 ], [ %23, %21 ]
  %13 = add i32 %12, %1
  %14 = zext i32 %13 to i64
  %15 = getelementptr inbounds nuw i32, ptr %8, i64 %14
  %16 = shl nuw i32 1, %12
  %17 = and i32 %16, %3
  %18 = icmp eq i32 %17, 0
  br i1 %18, label %19, label %21

19:
  %20 = load i32, ptr %15, align 4
  br label %21

21:
  %22 = phi i32 [ %20, %19 ], [ %5, %11 ]
  store i32 %22, ptr %15, align 4
  %23 = add nuw i32 %12, 1
  %24 = icmp eq i32 %23, %2
  br i1 %24, label %9, label %11

25:
  ret void

26:
  %27 = phi i32 [ 0, %9 ], [ %38, %37 ]
  %28 = shl nuw i32 1, %27
  %29 = and i32 %28, %3
  %30 = icmp eq i32 %29, 0
  br i1 %30, label %37, label %31

31:
  %32 = icmp eq i32 %27, %5
  %33 = zext i1 %32 to i32
  %34 = add i32 %27, %1
  %35 = zext i32 %34 to i64
  %36 = getelementptr inbounds nuw i32, ptr %10, i64 %35
  store i32 %33, ptr %36, align 4
  br label %37

37:
  %38 = add nuw i32 %27, 1
  %39 = icmp eq i32 %38, %2
  br i1 %39, label %25, label %26
}

define internal void @wl.match_any_b32(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %10, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 155648
  br label %11

10:
  ret void

11:
  %12 = phi i32 [ 0, %6 ], [ %28, %27 ]
  %13 = shl nuw i32 1, %12
  %14 = and i32 %13, %3
  %15 = icmp eq i32 %14, 0
  br i1 %15, label %27, label %16

16:
  %17 = add i32 %12, %1
  %18 = zext i32 %17 to i64
  %19 = getelementptr inbounds nuw i32, ptr %7, i64 %18
  %20 = load i32, ptr %19, align 4
  %21 = tail call fastcc i32 @wl.same(ptr %0, i32 0, i32 %1, i32 %2, i32 %3, i32 %20)
  %22 = and i32 %21, %3
  %23 = getelementptr inbounds nuw i32, ptr %8, i64 %18
  store i32 %22, ptr %23, align 4
  %24 = icmp eq i32 %22, %3
  %25 = zext i1 %24 to i32
  %26 = getelementptr inbounds nuw i32, ptr %9, i64 %18
  store i32 %25, ptr %26, align 4
  br label %27

27:
  %28 = add nuw i32 %12, 1
  %29 = icmp eq i32 %28, %2
  br i1 %29, label %10, label %11
}

define internal fastcc i32 @wl.same(ptr readonly captures(none) %0, i32 range(i32 0, 2) %1, i32 %2, i32 %3, i32 %4, i32 %5) unnamed_addr nofree noinline norecurse nosync nounwind memory(argmem: read) {
  %7 = icmp eq i32 %3, 0
  br i1 %7, label %14, label %8

8:
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %10 = zext nneg i32 %1 to i64
  %11 = getelementptr inbounds nuw [1024 x i32], ptr %9, i64 %10
  br label %16

12:
  %13 = and i32 %26, %4
  br label %14

14:
  %15 = phi i32 [ 0, %6 ], [ %13, %12 ]
  ret i32 %15

16:
  %17 = phi i32 [ 0, %8 ], [ %27, %16 ]
  %18 = phi i32 [ 0, %8 ], [ %26, %16 ]
  %19 = add i32 %17, %2
  %20 = zext i32 %19 to i64
  %21 = getelementptr inbounds nuw i32, ptr %11, i64 %20
  %22 = load i32, ptr %21, align 4
  %23 = icmp eq i32 %22, %5
  %24 = shl nuw i32 1, %17
  %25 = select i1 %23, i32 %24, i32 0
  %26 = or i32 %25, %18
  %27 = add nuw i32 %17, 1
  %28 = icmp eq i32 %27, %3
  br i1 %28, label %12, label %16
}

define internal void @wl.match_any_b64(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %10, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 155648
  br label %11

10:
  ret void

11:
  %12 = phi i32 [ 0, %6 ], [ %35, %34 ]
  %13 = shl nuw i32 1, %12
  %14 = and i32 %13, %3
  %15 = icmp eq i32 %14, 0
  br i1 %15, label %34, label %16

16:
  %17 = add i32 %12, %1
  %18 = zext i32 %17 to i64
  %19 = getelementptr inbounds nuw i32, ptr %7, i64 %18
  br label %25

20:
  %21 = getelementptr inbounds nuw i32, ptr %8, i64 %18
  store i32 %33, ptr %21, align 4
  %22 = icmp eq i32 %33, %3
  %23 = zext i1 %22 to i32
  %24 = getelementptr inbounds nuw i32, ptr %9, i64 %18
  store i32 %23, ptr %24, align 4
  br label %34

25:
  %26 = phi i1 [ true, %16 ], [ false, %25 ]
  %27 = phi i32 [ 0, %16 ], [ 1, %25 ]
  %28 = phi i32 [ %3, %16 ], [ %33, %25 ]
  %29 = zext nneg i32 %27 to i64
  %30 = getelementptr inbounds nuw [1024 x i32], ptr %19, i64 %29
  %31 = load i32, ptr %30, align 4
  %32 = tail call fastcc i32 @wl.same(ptr %0, i32 %27, i32 %1, i32 %2, i32 %3, i32 %31)
  %33 = and i32 %32, %28
  br i1 %26, label %25, label %20

34:
  %35 = add nuw i32 %12, 1
  %36 = icmp eq i32 %35, %2
  br i1 %36, label %10, label %11
}

define internal void @wl.match_all_b32(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %10, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 155648
  br label %11

10:
  ret void

11:
  %12 = phi i32 [ 0, %6 ], [ %29, %28 ]
  %13 = shl nuw i32 1, %12
  %14 = and i32 %13, %3
  %15 = icmp eq i32 %14, 0
  br i1 %15, label %28, label %16

16:
  %17 = add i32 %12, %1
  %18 = zext i32 %17 to i64
  %19 = getelementptr inbounds nuw i32, ptr %7, i64 %18
  %20 = load i32, ptr %19, align 4
  %21 = tail call fastcc i32 @wl.same(ptr %0, i32 0, i32 %1, i32 %2, i32 %3, i32 %20)
  %22 = and i32 %21, %3
  %23 = icmp eq i32 %22, %3
  %24 = select i1 %23, i32 %22, i32 0
  %25 = getelementptr inbounds nuw i32, ptr %8, i64 %18
  store i32 %24, ptr %25, align 4
  %26 = zext i1 %23 to i32
  %27 = getelementptr inbounds nuw i32, ptr %9, i64 %18
  store i32 %26, ptr %27, align 4
  br label %28

28:
  %29 = add nuw i32 %12, 1
  %30 = icmp eq i32 %29, %2
  br i1 %30, label %10, label %11
}

define internal void @wl.match_all_b64(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %10, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 155648
  br label %11

10:
  ret void

11:
  %12 = phi i32 [ 0, %6 ], [ %36, %35 ]
  %13 = shl nuw i32 1, %12
  %14 = and i32 %13, %3
  %15 = icmp eq i32 %14, 0
  br i1 %15, label %35, label %16

16:
  %17 = add i32 %12, %1
  %18 = zext i32 %17 to i64
  %19 = getelementptr inbounds nuw i32, ptr %7, i64 %18
  br label %26

20:
  %21 = icmp eq i32 %34, %3
  %22 = select i1 %21, i32 %34, i32 0
  %23 = getelementptr inbounds nuw i32, ptr %8, i64 %18
  store i32 %22, ptr %23, align 4
  %24 = zext i1 %21 to i32
  %25 = getelementptr inbounds nuw i32, ptr %9, i64 %18
  store i32 %24, ptr %25, align 4
  br label %35

26:
  %27 = phi i1 [ true, %16 ], [ false, %26 ]
  %28 = phi i32 [ 0, %16 ], [ 1, %26 ]
  %29 = phi i32 [ %3, %16 ], [ %34, %26 ]
  %30 = zext nneg i32 %28 to i64
  %31 = getelementptr inbounds nuw [1024 x i32], ptr %19, i64 %30
  %32 = load i32, ptr %31, align 4
  %33 = tail call fastcc i32 @wl.same(ptr %0, i32 %28, i32 %1, i32 %2, i32 %3, i32 %32)
  %34 = and i32 %33, %29
  br i1 %27, label %26, label %20

35:
  %36 = add nuw i32 %12, 1
  %37 = icmp eq i32 %36, %2
  br i1 %37, label %10, label %11
}

define internal void @wl.bar_popc(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %25, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  br label %10

8:
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  br label %26

10:
  %11 = phi i32 [ 0, %6 ], [ %22, %20 ]
  %12 = phi i32 [ 0, %6 ], [ %23, %20 ]
  %13 = zext i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr %0, i64 %13
  %15 = load i32, ptr %14, align 4
  %16 = icmp eq i32 %15, %3
  br i1 %16, label %17, label %20

17:
  %18 = getelementptr inbounds nuw i32, ptr %7, i64 %13
  %19 = load i32, ptr %18, align 4
  br label %20

20:
  %21 = phi i32 [ %19, %17 ], [ 0, %10 ]
  %22 = add i32 %21, %11
  %23 = add nuw i32 %12, 1
  %24 = icmp eq i32 %23, %2
  br i1 %24, label %8, label %10

25:
  ret void

26:
  %27 = phi i32 [ 0, %8 ], [ %35, %34 ]
  %28 = zext i32 %27 to i64
  %29 = getelementptr inbounds nuw i32, ptr %0, i64 %28
  %30 = load i32, ptr %29, align 4
  %31 = icmp eq i32 %30, %3
  br i1 %31, label %32, label %34

32:
  %33 = getelementptr inbounds nuw i32, ptr %9, i64 %28
  store i32 %22, ptr %33, align 4
  br label %34

34:
  %35 = add nuw i32 %27, 1
  %36 = icmp eq i32 %35, %2
  br i1 %36, label %25, label %26
}

define internal void @wl.bar_or(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %27, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  br label %12

8:
  %9 = icmp ne i32 %24, 0
  %10 = zext i1 %9 to i32
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  br label %28

12:
  %13 = phi i32 [ 0, %6 ], [ %24, %22 ]
  %14 = phi i32 [ 0, %6 ], [ %25, %22 ]
  %15 = zext i32 %14 to i64
  %16 = getelementptr inbounds nuw i32, ptr %0, i64 %15
  %17 = load i32, ptr %16, align 4
  %18 = icmp eq i32 %17, %3
  br i1 %18, label %19, label %22

19:
  %20 = getelementptr inbounds nuw i32, ptr %7, i64 %15
  %21 = load i32, ptr %20, align 4
  br label %22

22:
  %23 = phi i32 [ %21, %19 ], [ 0, %12 ]
  %24 = add i32 %23, %13
  %25 = add nuw i32 %14, 1
  %26 = icmp eq i32 %25, %2
  br i1 %26, label %8, label %12

27:
  ret void

28:
  %29 = phi i32 [ 0, %8 ], [ %37, %36 ]
  %30 = zext i32 %29 to i64
  %31 = getelementptr inbounds nuw i32, ptr %0, i64 %30
  %32 = load i32, ptr %31, align 4
  %33 = icmp eq i32 %32, %3
  br i1 %33, label %34, label %36

34:
  %35 = getelementptr inbounds nuw i32, ptr %11, i64 %30
  store i32 %10, ptr %35, align 4
  br label %36

36:
  %37 = add nuw i32 %29, 1
  %38 = icmp eq i32 %37, %2
  br i1 %38, label %27, label %28
}

define internal void @wl.bar_and(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %30, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  br label %12

8:
  %9 = icmp eq i32 %27, %21
  %10 = zext i1 %9 to i32
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  br label %31

12:
  %13 = phi i32 [ 0, %6 ], [ %27, %25 ]
  %14 = phi i32 [ 0, %6 ], [ %21, %25 ]
  %15 = phi i32 [ 0, %6 ], [ %28, %25 ]
  %16 = zext i32 %15 to i64
  %17 = getelementptr inbounds nuw i32, ptr %0, i64 %16
  %18 = load i32, ptr %17, align 4
  %19 = icmp eq i32 %18, %3
  %20 = zext i1 %19 to i32
  %21 = add i32 %14, %20
  br i1 %19, label %22, label %25

22:
  %23 = getelementptr inbounds nuw i32, ptr %7, i64 %16
  %24 = load i32, ptr %23, align 4
  br label %25

25:
  %26 = phi i32 [ %24, %22 ], [ 0, %12 ]
  %27 = add i32 %26, %13
  %28 = add nuw i32 %15, 1
  %29 = icmp eq i32 %28, %2
  br i1 %29, label %8, label %12

30:
  ret void

31:
  %32 = phi i32 [ 0, %8 ], [ %40, %39 ]
  %33 = zext i32 %32 to i64
  %34 = getelementptr inbounds nuw i32, ptr %0, i64 %33
  %35 = load i32, ptr %34, align 4
  %36 = icmp eq i32 %35, %3
  br i1 %36, label %37, label %39

37:
  %38 = getelementptr inbounds nuw i32, ptr %11, i64 %33
  store i32 %10, ptr %38, align 4
  br label %39

39:
  %40 = add nuw i32 %32, 1
  %41 = icmp eq i32 %40, %2
  br i1 %41, label %30, label %31
}

%struct.instruction = type { i64, i64, i64, i64, i64, i64 }

define internal range(i32 0, 5) i32 @wl.run_graph(ptr %0, ptr %1, ptr %2, i64 %3, i64 %4) nounwind {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %7 = getelementptr inbounds nuw i8, ptr %1, i64 16
  %8 = getelementptr inbounds nuw i8, ptr %1, i64 64
  %9 = getelementptr inbounds nuw i8, ptr %1, i64 72
  %10 = getelementptr inbounds nuw i8, ptr %1, i64 80
  %11 = getelementptr inbounds nuw i8, ptr %1, i64 48
  %12 = getelementptr inbounds nuw i8, ptr %1, i64 56
  %13 = getelementptr inbounds nuw i8, ptr %1, i64 24
  %14 = getelementptr inbounds nuw i8, ptr %1, i64 40
  %15 = getelementptr inbounds nuw i8, ptr %1, i64 32
  %16 = getelementptr inbounds nuw i8, ptr %2, i64 120
  %17 = getelementptr inbounds nuw i8, ptr %2, i64 16
  %18 = getelementptr inbounds nuw i8, ptr %2, i64 80
  %19 = getelementptr inbounds nuw i8, ptr %2, i64 88
  %20 = getelementptr inbounds nuw i8, ptr %2, i64 64
  %21 = getelementptr inbounds nuw i8, ptr %2, i64 112
  br label %22

22:
  %23 = phi i64 [ %3, %5 ], [ %144, %142 ]
  %24 = getelementptr inbounds %struct.instruction, ptr %0, i64 %23
  %25 = load i64, ptr %24, align 8
  switch i64 %25, label %145 [
    i64 1, label %26
    i64 9, label %141
    i64 8, label %122
    i64 10, label %75
    i64 4, label %98
    i64 5, label %105
    i64 6, label %115
    i64 7, label %119
    i64 2, label %57
    i64 3, label %66
  ]

26:
  %27 = getelementptr inbounds nuw i8, ptr %24, i64 16
  %28 = load i64, ptr %27, align 8
  %29 = inttoptr i64 %28 to ptr
  %30 = getelementptr inbounds nuw i8, ptr %29, i64 96
  store i64 0, ptr %30, align 8
  %31 = load i64, ptr %15, align 8
  %32 = add nsw i64 %31, 1
  store i64 %32, ptr %15, align 8
  %33 = load i64, ptr %16, align 8
  %34 = add nsw i64 %33, 1
  store i64 %34, ptr %16, align 8
  %35 = getelementptr inbounds nuw i8, ptr %24, i64 32
  %36 = load i64, ptr %35, align 8
  store i64 0, ptr %17, align 8
  store i64 0, ptr %18, align 8
  %37 = getelementptr inbounds nuw i8, ptr %24, i64 24
  %38 = load i64, ptr %37, align 8
  store i64 %38, ptr %19, align 8
  %39 = getelementptr inbounds nuw i8, ptr %24, i64 40
  %40 = load i64, ptr %39, align 8
  store i64 %40, ptr %20, align 8
  store i64 %23, ptr %21, align 8
  %41 = getelementptr inbounds nuw i8, ptr %24, i64 8
  %42 = load i64, ptr %41, align 8
  %43 = inttoptr i64 %42 to ptr
  %44 = load i64, ptr %27, align 8
  %45 = inttoptr i64 %44 to ptr
  %46 = load i64, ptr %37, align 8
  %47 = inttoptr i64 %46 to ptr
  %48 = load i64, ptr %35, align 8
  %49 = tail call i32 %43(ptr %45, ptr %47, ptr %2, i64 %48, i64 %36) nounwind
  %50 = icmp eq i32 %49, 0
  br i1 %50, label %52, label %51

51:
  store ptr %2, ptr %9, align 8
  br label %145

52:
  %53 = load ptr, ptr %11, align 8
  %54 = load volatile i64, ptr %53, align 8
  %55 = load i64, ptr %12, align 8
  %56 = icmp eq i64 %54, %55
  br i1 %56, label %142, label %145

57:
  %58 = getelementptr inbounds nuw i8, ptr %24, i64 8
  %59 = load i64, ptr %58, align 8
  %60 = inttoptr i64 %59 to ptr
  %61 = getelementptr inbounds nuw i8, ptr %24, i64 16
  %62 = load i64, ptr %61, align 8
  %63 = trunc i64 %62 to i8
  %64 = getelementptr inbounds nuw i8, ptr %24, i64 24
  %65 = load i64, ptr %64, align 8
  tail call void @llvm.memset.p0.i64(ptr align 1 %60, i8 %63, i64 %65, i1 false)
  br label %142

66:
  %67 = getelementptr inbounds nuw i8, ptr %24, i64 8
  %68 = load i64, ptr %67, align 8
  %69 = inttoptr i64 %68 to ptr
  %70 = getelementptr inbounds nuw i8, ptr %24, i64 16
  %71 = load i64, ptr %70, align 8
  %72 = inttoptr i64 %71 to ptr
  %73 = getelementptr inbounds nuw i8, ptr %24, i64 24
  %74 = load i64, ptr %73, align 8
  tail call void @llvm.memmove.p0.p0.i64(ptr align 1 %69, ptr align 1 %72, i64 %74, i1 false)
  br label %142

75:
  %76 = tail call i64 @wl.monotonic() nounwind
  %77 = load ptr, ptr %8, align 8
  %78 = getelementptr inbounds nuw i8, ptr %24, i64 8
  %79 = load i64, ptr %78, align 8
  %80 = inttoptr i64 %79 to ptr
  %81 = tail call i64 @wl.run_section(ptr %77, ptr nonnull %0, ptr %80, ptr nonnull %9) nounwind
  %82 = tail call i64 @wl.monotonic() nounwind
  %83 = sub nsw i64 %82, %76
  %84 = load i64, ptr %10, align 8
  %85 = add nsw i64 %84, %83
  store i64 %85, ptr %10, align 8
  %86 = icmp sgt i64 %81, -1
  br i1 %86, label %145, label %87

87:
  %88 = getelementptr inbounds nuw i8, ptr %24, i64 16
  %89 = load i64, ptr %88, align 8
  %90 = add nsw i64 %89, -1
  %91 = load ptr, ptr %11, align 8
  %92 = load volatile i64, ptr %91, align 8
  %93 = load i64, ptr %12, align 8
  %94 = icmp eq i64 %92, %93
  br i1 %94, label %95, label %145

95:
  %96 = icmp sgt i64 %83, 2000000
  br i1 %96, label %97, label %142

97:
  store i64 0, ptr %13, align 8
  br label %142

98:
  %99 = getelementptr inbounds nuw i8, ptr %24, i64 16
  %100 = load i64, ptr %99, align 8
  %101 = trunc i64 %100 to i32
  %102 = getelementptr inbounds nuw i8, ptr %24, i64 8
  %103 = load i64, ptr %102, align 8
  %104 = inttoptr i64 %103 to ptr
  store i32 %101, ptr %104, align 4
  br label %142

105:
  %106 = getelementptr inbounds nuw i8, ptr %24, i64 8
  %107 = load i64, ptr %106, align 8
  %108 = inttoptr i64 %107 to ptr
  %109 = load i32, ptr %108, align 4
  %110 = icmp eq i32 %109, 0
  br i1 %110, label %111, label %142

111:
  %112 = getelementptr inbounds nuw i8, ptr %24, i64 16
  %113 = load i64, ptr %112, align 8
  %114 = add nsw i64 %113, -1
  br label %142

115:
  %116 = getelementptr inbounds nuw i8, ptr %24, i64 8
  %117 = load i64, ptr %116, align 8
  %118 = add nsw i64 %117, -1
  br label %142

119:
  %120 = getelementptr inbounds nuw i8, ptr %24, i64 8
  %121 = load i64, ptr %120, align 8
  store i64 %121, ptr %6, align 8
  store i64 0, ptr %7, align 8
  br label %142

122:
  %123 = load i64, ptr %6, align 8
  %124 = getelementptr inbounds nuw i8, ptr %24, i64 8
  %125 = load i64, ptr %124, align 8
  %126 = icmp eq i64 %123, %125
  %127 = zext i1 %126 to i64
  %128 = load i64, ptr %7, align 8
  %129 = add nsw i64 %128, %127
  store i64 %129, ptr %7, align 8
  %130 = load ptr, ptr %14, align 8
  %131 = load volatile i64, ptr %130, align 8
  %132 = icmp eq i64 %131, 0
  br i1 %132, label %133, label %145

133:
  %134 = load i64, ptr %13, align 8
  %135 = add nsw i64 %134, -1
  store i64 %135, ptr %13, align 8
  %136 = icmp slt i64 %134, 2
  %137 = getelementptr inbounds nuw i8, ptr %24, i64 16
  %138 = load i64, ptr %137, align 8
  br i1 %136, label %145, label %139

139:
  %140 = add nsw i64 %138, -1
  br label %142

141:
  store i64 -1, ptr %6, align 8
  br label %142

142:
  %143 = phi i64 [ %90, %95 ], [ %90, %97 ], [ %23, %66 ], [ %23, %57 ], [ %140, %139 ], [ %23, %119 ], [ %118, %115 ], [ %114, %111 ], [ %23, %105 ], [ %23, %98 ], [ %23, %141 ], [ %23, %52 ]
  %144 = add nsw i64 %143, 1
  br label %22

145:
  %146 = phi i64 [ %23, %51 ], [ %81, %75 ], [ %90, %87 ], [ %23, %122 ], [ %23, %52 ], [ %23, %22 ], [ %138, %133 ]
  %147 = phi i32 [ 2, %51 ], [ 2, %75 ], [ 3, %87 ], [ 1, %122 ], [ 3, %52 ], [ 0, %22 ], [ 4, %133 ]
  store i64 %146, ptr %1, align 8
  ret i32 %147
}

define internal void @wl.gather_f32_from_f32(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %11, label %10

10:
  ret void

11:
  %12 = phi i32 [ %21, %11 ], [ 0, %5 ]
  %13 = zext nneg i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr %3, i64 %13
  %15 = load i32, ptr %14, align 4
  %16 = lshr i32 %15, 1
  %17 = zext nneg i32 %16 to i64
  %18 = getelementptr inbounds nuw i8, ptr %8, i64 %17
  %19 = load float, ptr %18, align 4
  %20 = getelementptr inbounds nuw float, ptr %0, i64 %13
  store float %19, ptr %20, align 4
  %21 = add nuw nsw i32 %12, 1
  %22 = icmp eq i32 %21, %4
  br i1 %22, label %10, label %11
}

define internal void @wl.gather_f32_from_tf32(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %11, label %10

10:
  ret void

11:
  %12 = phi i32 [ %22, %11 ], [ 0, %5 ]
  %13 = zext nneg i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr %3, i64 %13
  %15 = load i32, ptr %14, align 4
  %16 = lshr i32 %15, 1
  %17 = zext nneg i32 %16 to i64
  %18 = getelementptr inbounds nuw i8, ptr %8, i64 %17
  %19 = load i32, ptr %18, align 4
  %20 = and i32 %19, -8192
  %21 = getelementptr inbounds nuw float, ptr %0, i64 %13
  store i32 %20, ptr %21, align 4
  %22 = add nuw nsw i32 %12, 1
  %23 = icmp eq i32 %22, %4
  br i1 %23, label %10, label %11
}

define internal void @wl.gather_f32_from_bf16(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %11, label %10

10:
  ret void

11:
  %12 = phi i32 [ %23, %11 ], [ 0, %5 ]
  %13 = zext nneg i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr %3, i64 %13
  %15 = load i32, ptr %14, align 4
  %16 = lshr i32 %15, 1
  %17 = zext nneg i32 %16 to i64
  %18 = getelementptr inbounds nuw i8, ptr %8, i64 %17
  %19 = load i16, ptr %18, align 2
  %20 = zext i16 %19 to i32
  %21 = shl nuw i32 %20, 16
  %22 = getelementptr inbounds nuw float, ptr %0, i64 %13
  store i32 %21, ptr %22, align 4
  %23 = add nuw nsw i32 %12, 1
  %24 = icmp eq i32 %23, %4
  br i1 %24, label %10, label %11
}

define internal void @wl.gather_f32_from_f16(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %11, label %10

10:
  ret void

11:
  %12 = phi i32 [ %22, %11 ], [ 0, %5 ]
  %13 = zext nneg i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr %3, i64 %13
  %15 = load i32, ptr %14, align 4
  %16 = lshr i32 %15, 1
  %17 = zext nneg i32 %16 to i64
  %18 = getelementptr inbounds nuw i8, ptr %8, i64 %17
  %19 = load half, ptr %18, align 2
  %20 = fpext half %19 to float
  %21 = getelementptr inbounds nuw float, ptr %0, i64 %13
  store float %20, ptr %21, align 4
  %22 = add nuw nsw i32 %12, 1
  %23 = icmp eq i32 %22, %4
  br i1 %23, label %10, label %11
}

define internal void @wl.gather_f32_from_e5m2(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %11, label %10

10:
  ret void

11:
  %12 = phi i32 [ %25, %11 ], [ 0, %5 ]
  %13 = zext nneg i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr %3, i64 %13
  %15 = load i32, ptr %14, align 4
  %16 = lshr i32 %15, 1
  %17 = zext nneg i32 %16 to i64
  %18 = getelementptr inbounds nuw i8, ptr %8, i64 %17
  %19 = load i8, ptr %18, align 1
  %20 = zext i8 %19 to i16
  %21 = shl nuw i16 %20, 8
  %22 = bitcast i16 %21 to half
  %23 = fpext half %22 to float
  %24 = getelementptr inbounds nuw float, ptr %0, i64 %13
  store float %23, ptr %24, align 4
  %25 = add nuw nsw i32 %12, 1
  %26 = icmp eq i32 %25, %4
  br i1 %26, label %10, label %11
}

define internal void @wl.gather_f32_from_e4m3(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %11, label %10

10:
  ret void

11:
  %12 = phi i32 [ %32, %11 ], [ 0, %5 ]
  %13 = zext nneg i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr %3, i64 %13
  %15 = load i32, ptr %14, align 4
  %16 = lshr i32 %15, 1
  %17 = zext nneg i32 %16 to i64
  %18 = getelementptr inbounds nuw i8, ptr %8, i64 %17
  %19 = load i8, ptr %18, align 1
  %20 = sext i8 %19 to i16
  %21 = and i16 %20, -32768
  %22 = and i8 %19, 127
  %23 = zext nneg i8 %22 to i16
  %24 = shl nuw nsw i16 %23, 7
  %25 = or disjoint i16 %24, %21
  %26 = bitcast i16 %25 to half
  %27 = fpext half %26 to float
  %28 = icmp eq i8 %22, 127
  %29 = fmul float %27, 2.560000e+02
  %30 = select i1 %28, float 0x7FF8000000000000, float %29
  %31 = getelementptr inbounds nuw float, ptr %0, i64 %13
  store float %30, ptr %31, align 4
  %32 = add nuw nsw i32 %12, 1
  %33 = icmp eq i32 %32, %4
  br i1 %33, label %10, label %11
}

define internal void @wl.gather_f64_from_f64(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %11, label %10

10:
  ret void

11:
  %12 = phi i32 [ %27, %11 ], [ 0, %5 ]
  %13 = zext nneg i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr %3, i64 %13
  %15 = load i32, ptr %14, align 4
  %16 = lshr i32 %15, 1
  %17 = zext nneg i32 %16 to i64
  %18 = getelementptr inbounds nuw i8, ptr %8, i64 %17
  %19 = getelementptr inbounds nuw i8, ptr %18, i64 4096
  %20 = load i32, ptr %19, align 4
  %21 = zext i32 %20 to i64
  %22 = shl nuw i64 %21, 32
  %23 = load i32, ptr %18, align 4
  %24 = zext i32 %23 to i64
  %25 = or disjoint i64 %22, %24
  %26 = getelementptr inbounds nuw double, ptr %0, i64 %13
  store i64 %25, ptr %26, align 8
  %27 = add nuw nsw i32 %12, 1
  %28 = icmp eq i32 %27, %4
  br i1 %28, label %10, label %11
}

define internal void @wl.gather_i32_from_s32(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %11, label %10

10:
  ret void

11:
  %12 = phi i32 [ %21, %11 ], [ 0, %5 ]
  %13 = zext nneg i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr %3, i64 %13
  %15 = load i32, ptr %14, align 4
  %16 = lshr i32 %15, 1
  %17 = zext nneg i32 %16 to i64
  %18 = getelementptr inbounds nuw i8, ptr %8, i64 %17
  %19 = load i32, ptr %18, align 4
  %20 = getelementptr inbounds nuw i32, ptr %0, i64 %13
  store i32 %19, ptr %20, align 4
  %21 = add nuw nsw i32 %12, 1
  %22 = icmp eq i32 %21, %4
  br i1 %22, label %10, label %11
}

define internal void @wl.gather_i32_from_s8(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %11, label %10

10:
  ret void

11:
  %12 = phi i32 [ %22, %11 ], [ 0, %5 ]
  %13 = zext nneg i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr %3, i64 %13
  %15 = load i32, ptr %14, align 4
  %16 = lshr i32 %15, 1
  %17 = zext nneg i32 %16 to i64
  %18 = getelementptr inbounds nuw i8, ptr %8, i64 %17
  %19 = load i8, ptr %18, align 1
  %20 = sext i8 %19 to i32
  %21 = getelementptr inbounds nuw i32, ptr %0, i64 %13
  store i32 %20, ptr %21, align 4
  %22 = add nuw nsw i32 %12, 1
  %23 = icmp eq i32 %22, %4
  br i1 %23, label %10, label %11
}

define internal void @wl.gather_i32_from_u8(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %11, label %10

10:
  ret void

11:
  %12 = phi i32 [ %22, %11 ], [ 0, %5 ]
  %13 = zext nneg i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr %3, i64 %13
  %15 = load i32, ptr %14, align 4
  %16 = lshr i32 %15, 1
  %17 = zext nneg i32 %16 to i64
  %18 = getelementptr inbounds nuw i8, ptr %8, i64 %17
  %19 = load i8, ptr %18, align 1
  %20 = zext i8 %19 to i32
  %21 = getelementptr inbounds nuw i32, ptr %0, i64 %13
  store i32 %20, ptr %21, align 4
  %22 = add nuw nsw i32 %12, 1
  %23 = icmp eq i32 %22, %4
  br i1 %23, label %10, label %11
}

define internal void @wl.gather_i32_from_s4(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %11, label %10

10:
  ret void

11:
  %12 = phi i32 [ %27, %11 ], [ 0, %5 ]
  %13 = zext nneg i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr %3, i64 %13
  %15 = load i32, ptr %14, align 4
  %16 = lshr i32 %15, 1
  %17 = zext nneg i32 %16 to i64
  %18 = getelementptr inbounds nuw i8, ptr %8, i64 %17
  %19 = load i8, ptr %18, align 1
  %20 = zext i8 %19 to i32
  %21 = shl i32 %15, 2
  %22 = and i32 %21, 4
  %23 = lshr i32 %20, %22
  %24 = shl i32 %23, 28
  %25 = ashr exact i32 %24, 28
  %26 = getelementptr inbounds nuw i32, ptr %0, i64 %13
  store i32 %25, ptr %26, align 4
  %27 = add nuw nsw i32 %12, 1
  %28 = icmp eq i32 %27, %4
  br i1 %28, label %10, label %11
}

define internal void @wl.gather_i32_from_u4(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %11, label %10

10:
  ret void

11:
  %12 = phi i32 [ %26, %11 ], [ 0, %5 ]
  %13 = zext nneg i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr %3, i64 %13
  %15 = load i32, ptr %14, align 4
  %16 = lshr i32 %15, 1
  %17 = zext nneg i32 %16 to i64
  %18 = getelementptr inbounds nuw i8, ptr %8, i64 %17
  %19 = load i8, ptr %18, align 1
  %20 = zext i8 %19 to i32
  %21 = shl i32 %15, 2
  %22 = and i32 %21, 4
  %23 = lshr i32 %20, %22
  %24 = and i32 %23, 15
  %25 = getelementptr inbounds nuw i32, ptr %0, i64 %13
  store i32 %24, ptr %25, align 4
  %26 = add nuw nsw i32 %12, 1
  %27 = icmp eq i32 %26, %4
  br i1 %27, label %10, label %11
}

define internal void @wl.gather_i64_from_s32(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %11, label %10

10:
  ret void

11:
  %12 = phi i32 [ %22, %11 ], [ 0, %5 ]
  %13 = zext nneg i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr %3, i64 %13
  %15 = load i32, ptr %14, align 4
  %16 = lshr i32 %15, 1
  %17 = zext nneg i32 %16 to i64
  %18 = getelementptr inbounds nuw i8, ptr %8, i64 %17
  %19 = load i32, ptr %18, align 4
  %20 = sext i32 %19 to i64
  %21 = getelementptr inbounds nuw i64, ptr %0, i64 %13
  store i64 %20, ptr %21, align 8
  %22 = add nuw nsw i32 %12, 1
  %23 = icmp eq i32 %22, %4
  br i1 %23, label %10, label %11
}

define internal void @wl.gather_i64_from_s8(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %11, label %10

10:
  ret void

11:
  %12 = phi i32 [ %22, %11 ], [ 0, %5 ]
  %13 = zext nneg i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr %3, i64 %13
  %15 = load i32, ptr %14, align 4
  %16 = lshr i32 %15, 1
  %17 = zext nneg i32 %16 to i64
  %18 = getelementptr inbounds nuw i8, ptr %8, i64 %17
  %19 = load i8, ptr %18, align 1
  %20 = sext i8 %19 to i64
  %21 = getelementptr inbounds nuw i64, ptr %0, i64 %13
  store i64 %20, ptr %21, align 8
  %22 = add nuw nsw i32 %12, 1
  %23 = icmp eq i32 %22, %4
  br i1 %23, label %10, label %11
}

define internal void @wl.gather_i64_from_u8(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %11, label %10

10:
  ret void

11:
  %12 = phi i32 [ %22, %11 ], [ 0, %5 ]
  %13 = zext nneg i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr %3, i64 %13
  %15 = load i32, ptr %14, align 4
  %16 = lshr i32 %15, 1
  %17 = zext nneg i32 %16 to i64
  %18 = getelementptr inbounds nuw i8, ptr %8, i64 %17
  %19 = load i8, ptr %18, align 1
  %20 = zext i8 %19 to i64
  %21 = getelementptr inbounds nuw i64, ptr %0, i64 %13
  store i64 %20, ptr %21, align 8
  %22 = add nuw nsw i32 %12, 1
  %23 = icmp eq i32 %22, %4
  br i1 %23, label %10, label %11
}

define internal void @wl.gather_i64_from_s4(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %11, label %10

10:
  ret void

11:
  %12 = phi i32 [ %28, %11 ], [ 0, %5 ]
  %13 = zext nneg i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr %3, i64 %13
  %15 = load i32, ptr %14, align 4
  %16 = lshr i32 %15, 1
  %17 = zext nneg i32 %16 to i64
  %18 = getelementptr inbounds nuw i8, ptr %8, i64 %17
  %19 = load i8, ptr %18, align 1
  %20 = zext i8 %19 to i32
  %21 = shl i32 %15, 2
  %22 = and i32 %21, 4
  %23 = lshr i32 %20, %22
  %24 = shl i32 %23, 28
  %25 = ashr exact i32 %24, 28
  %26 = sext i32 %25 to i64
  %27 = getelementptr inbounds nuw i64, ptr %0, i64 %13
  store i64 %26, ptr %27, align 8
  %28 = add nuw nsw i32 %12, 1
  %29 = icmp eq i32 %28, %4
  br i1 %29, label %10, label %11
}

define internal void @wl.gather_i64_from_u4(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %11, label %10

10:
  ret void

11:
  %12 = phi i32 [ %27, %11 ], [ 0, %5 ]
  %13 = zext nneg i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr %3, i64 %13
  %15 = load i32, ptr %14, align 4
  %16 = lshr i32 %15, 1
  %17 = zext nneg i32 %16 to i64
  %18 = getelementptr inbounds nuw i8, ptr %8, i64 %17
  %19 = load i8, ptr %18, align 1
  %20 = zext i8 %19 to i32
  %21 = shl i32 %15, 2
  %22 = and i32 %21, 4
  %23 = lshr i32 %20, %22
  %24 = and i32 %23, 15
  %25 = zext nneg i32 %24 to i64
  %26 = getelementptr inbounds nuw i64, ptr %0, i64 %13
  store i64 %25, ptr %26, align 8
  %27 = add nuw nsw i32 %12, 1
  %28 = icmp eq i32 %27, %4
  br i1 %28, label %10, label %11
}

define internal void @wl.gather_i32_from_b1(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %11, label %10

10:
  ret void

11:
  %12 = phi i32 [ %21, %11 ], [ 0, %5 ]
  %13 = zext nneg i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr %3, i64 %13
  %15 = load i32, ptr %14, align 4
  %16 = lshr i32 %15, 1
  %17 = zext nneg i32 %16 to i64
  %18 = getelementptr inbounds nuw i8, ptr %8, i64 %17
  %19 = load i32, ptr %18, align 4
  %20 = getelementptr inbounds nuw i32, ptr %0, i64 %13
  store i32 %19, ptr %20, align 4
  %21 = add nuw nsw i32 %12, 1
  %22 = icmp eq i32 %21, %4
  br i1 %22, label %10, label %11
}

define internal void @wl.product_f32_8(ptr captures(none) %0, ptr readonly captures(none) %1, ptr readonly captures(none) %2, i32 %3, i32 %4, i32 %5) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %7 = icmp sgt i32 %3, 0
  br i1 %7, label %8, label %11

8:
  %9 = shl i32 %4, 3
  %10 = icmp sgt i32 %4, 0
  br label %12

11:
  ret void

12:
  %13 = phi i32 [ 0, %8 ], [ %27, %25 ]
  %14 = mul nsw i32 %13, %4
  %15 = sext i32 %14 to i64
  %16 = getelementptr inbounds float, ptr %1, i64 %15
  %17 = sdiv i32 %13, %5
  %18 = mul i32 %9, %17
  %19 = sext i32 %18 to i64
  %20 = getelementptr inbounds float, ptr %2, i64 %19
  %21 = shl nsw i32 %13, 3
  %22 = zext nneg i32 %21 to i64
  %23 = getelementptr inbounds nuw float, ptr %0, i64 %22
  %24 = load <8 x float>, ptr %23, align 4
  br i1 %10, label %29, label %25

25:
  %26 = phi <8 x float> [ %24, %12 ], [ %42, %29 ]
  store <8 x float> %26, ptr %23, align 4
  %27 = add nuw nsw i32 %13, 1
  %28 = icmp eq i32 %27, %3
  br i1 %28, label %11, label %12

29:
  %30 = phi i32 [ %43, %29 ], [ 0, %12 ]
  %31 = phi <8 x float> [ %42, %29 ], [ %24, %12 ]
  %32 = zext nneg i32 %30 to i64
  %33 = getelementptr inbounds nuw float, ptr %16, i64 %32
  %34 = load float, ptr %33, align 4
  %35 = insertelement <8 x float> poison, float %34, i64 0
  %36 = shufflevector <8 x float> %35, <8 x float> poison, <8 x i32> zeroinitializer
  %37 = shl nsw i32 %30, 3
  %38 = zext nneg i32 %37 to i64
  %39 = getelementptr inbounds nuw float, ptr %20, i64 %38
  %40 = load <8 x float>, ptr %39, align 4
  %41 = fmul <8 x float> %40, %36
  %42 = fadd <8 x float> %31, %41
  %43 = add nuw nsw i32 %30, 1
  %44 = icmp eq i32 %43, %4
  br i1 %44, label %25, label %29
}

define internal void @wl.product_f32_16(ptr captures(none) %0, ptr readonly captures(none) %1, ptr readonly captures(none) %2, i32 %3, i32 %4, i32 %5) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %7 = icmp sgt i32 %3, 0
  br i1 %7, label %8, label %11

8:
  %9 = shl i32 %4, 4
  %10 = icmp sgt i32 %4, 0
  br label %12

11:
  ret void

12:
  %13 = phi i32 [ 0, %8 ], [ %27, %25 ]
  %14 = mul nsw i32 %13, %4
  %15 = sext i32 %14 to i64
  %16 = getelementptr inbounds float, ptr %1, i64 %15
  %17 = sdiv i32 %13, %5
  %18 = mul i32 %9, %17
  %19 = sext i32 %18 to i64
  %20 = getelementptr inbounds float, ptr %2, i64 %19
  %21 = shl nsw i32 %13, 4
  %22 = zext nneg i32 %21 to i64
  %23 = getelementptr inbounds nuw float, ptr %0, i64 %22
  %24 = load <16 x float>, ptr %23, align 4
  br i1 %10, label %29, label %25

25:
  %26 = phi <16 x float> [ %24, %12 ], [ %42, %29 ]
  store <16 x float> %26, ptr %23, align 4
  %27 = add nuw nsw i32 %13, 1
  %28 = icmp eq i32 %27, %3
  br i1 %28, label %11, label %12

29:
  %30 = phi i32 [ %43, %29 ], [ 0, %12 ]
  %31 = phi <16 x float> [ %42, %29 ], [ %24, %12 ]
  %32 = zext nneg i32 %30 to i64
  %33 = getelementptr inbounds nuw float, ptr %16, i64 %32
  %34 = load float, ptr %33, align 4
  %35 = insertelement <16 x float> poison, float %34, i64 0
  %36 = shufflevector <16 x float> %35, <16 x float> poison, <16 x i32> zeroinitializer
  %37 = shl nsw i32 %30, 4
  %38 = zext nneg i32 %37 to i64
  %39 = getelementptr inbounds nuw float, ptr %20, i64 %38
  %40 = load <16 x float>, ptr %39, align 4
  %41 = fmul <16 x float> %40, %36
  %42 = fadd <16 x float> %31, %41
  %43 = add nuw nsw i32 %30, 1
  %44 = icmp eq i32 %43, %4
  br i1 %44, label %25, label %29
}

define internal void @wl.product_f32_32(ptr captures(none) %0, ptr readonly captures(none) %1, ptr readonly captures(none) %2, i32 %3, i32 %4, i32 %5) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %7 = icmp sgt i32 %3, 0
  br i1 %7, label %8, label %11

8:
  %9 = shl i32 %4, 5
  %10 = icmp sgt i32 %4, 0
  br label %12

11:
  ret void

12:
  %13 = phi i32 [ 0, %8 ], [ %27, %25 ]
  %14 = mul nsw i32 %13, %4
  %15 = sext i32 %14 to i64
  %16 = getelementptr inbounds float, ptr %1, i64 %15
  %17 = sdiv i32 %13, %5
  %18 = mul i32 %9, %17
  %19 = sext i32 %18 to i64
  %20 = getelementptr inbounds float, ptr %2, i64 %19
  %21 = shl nsw i32 %13, 5
  %22 = zext nneg i32 %21 to i64
  %23 = getelementptr inbounds nuw float, ptr %0, i64 %22
  %24 = load <32 x float>, ptr %23, align 4
  br i1 %10, label %29, label %25

25:
  %26 = phi <32 x float> [ %24, %12 ], [ %42, %29 ]
  store <32 x float> %26, ptr %23, align 4
  %27 = add nuw nsw i32 %13, 1
  %28 = icmp eq i32 %27, %3
  br i1 %28, label %11, label %12

29:
  %30 = phi i32 [ %43, %29 ], [ 0, %12 ]
  %31 = phi <32 x float> [ %42, %29 ], [ %24, %12 ]
  %32 = zext nneg i32 %30 to i64
  %33 = getelementptr inbounds nuw float, ptr %16, i64 %32
  %34 = load float, ptr %33, align 4
  %35 = insertelement <32 x float> poison, float %34, i64 0
  %36 = shufflevector <32 x float> %35, <32 x float> poison, <32 x i32> zeroinitializer
  %37 = shl nsw i32 %30, 5
  %38 = zext nneg i32 %37 to i64
  %39 = getelementptr inbounds nuw float, ptr %20, i64 %38
  %40 = load <32 x float>, ptr %39, align 4
  %41 = fmul <32 x float> %40, %36
  %42 = fadd <32 x float> %31, %41
  %43 = add nuw nsw i32 %30, 1
  %44 = icmp eq i32 %43, %4
  br i1 %44, label %25, label %29
}

define internal void @wl.product_i32_8(ptr captures(none) %0, ptr readonly captures(none) %1, ptr readonly captures(none) %2, i32 %3, i32 %4, i32 %5) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %7 = icmp sgt i32 %3, 0
  br i1 %7, label %8, label %11

8:
  %9 = shl i32 %4, 3
  %10 = icmp sgt i32 %4, 0
  br label %12

11:
  ret void

12:
  %13 = phi i32 [ 0, %8 ], [ %27, %25 ]
  %14 = mul nsw i32 %13, %4
  %15 = sext i32 %14 to i64
  %16 = getelementptr inbounds i32, ptr %1, i64 %15
  %17 = sdiv i32 %13, %5
  %18 = mul i32 %9, %17
  %19 = sext i32 %18 to i64
  %20 = getelementptr inbounds i32, ptr %2, i64 %19
  %21 = shl nsw i32 %13, 3
  %22 = zext nneg i32 %21 to i64
  %23 = getelementptr inbounds nuw i32, ptr %0, i64 %22
  %24 = load <8 x i32>, ptr %23, align 4
  br i1 %10, label %29, label %25

25:
  %26 = phi <8 x i32> [ %24, %12 ], [ %42, %29 ]
  store <8 x i32> %26, ptr %23, align 4
  %27 = add nuw nsw i32 %13, 1
  %28 = icmp eq i32 %27, %3
  br i1 %28, label %11, label %12

29:
  %30 = phi i32 [ %43, %29 ], [ 0, %12 ]
  %31 = phi <8 x i32> [ %42, %29 ], [ %24, %12 ]
  %32 = zext nneg i32 %30 to i64
  %33 = getelementptr inbounds nuw i32, ptr %16, i64 %32
  %34 = load i32, ptr %33, align 4
  %35 = insertelement <8 x i32> poison, i32 %34, i64 0
  %36 = shufflevector <8 x i32> %35, <8 x i32> poison, <8 x i32> zeroinitializer
  %37 = shl nsw i32 %30, 3
  %38 = zext nneg i32 %37 to i64
  %39 = getelementptr inbounds nuw i32, ptr %20, i64 %38
  %40 = load <8 x i32>, ptr %39, align 4
  %41 = mul <8 x i32> %36, %40
  %42 = add <8 x i32> %41, %31
  %43 = add nuw nsw i32 %30, 1
  %44 = icmp eq i32 %43, %4
  br i1 %44, label %25, label %29
}

define internal void @wl.product_i32_16(ptr captures(none) %0, ptr readonly captures(none) %1, ptr readonly captures(none) %2, i32 %3, i32 %4, i32 %5) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %7 = icmp sgt i32 %3, 0
  br i1 %7, label %8, label %11

8:
  %9 = shl i32 %4, 4
  %10 = icmp sgt i32 %4, 0
  br label %12

11:
  ret void

12:
  %13 = phi i32 [ 0, %8 ], [ %27, %25 ]
  %14 = mul nsw i32 %13, %4
  %15 = sext i32 %14 to i64
  %16 = getelementptr inbounds i32, ptr %1, i64 %15
  %17 = sdiv i32 %13, %5
  %18 = mul i32 %9, %17
  %19 = sext i32 %18 to i64
  %20 = getelementptr inbounds i32, ptr %2, i64 %19
  %21 = shl nsw i32 %13, 4
  %22 = zext nneg i32 %21 to i64
  %23 = getelementptr inbounds nuw i32, ptr %0, i64 %22
  %24 = load <16 x i32>, ptr %23, align 4
  br i1 %10, label %29, label %25

25:
  %26 = phi <16 x i32> [ %24, %12 ], [ %42, %29 ]
  store <16 x i32> %26, ptr %23, align 4
  %27 = add nuw nsw i32 %13, 1
  %28 = icmp eq i32 %27, %3
  br i1 %28, label %11, label %12

29:
  %30 = phi i32 [ %43, %29 ], [ 0, %12 ]
  %31 = phi <16 x i32> [ %42, %29 ], [ %24, %12 ]
  %32 = zext nneg i32 %30 to i64
  %33 = getelementptr inbounds nuw i32, ptr %16, i64 %32
  %34 = load i32, ptr %33, align 4
  %35 = insertelement <16 x i32> poison, i32 %34, i64 0
  %36 = shufflevector <16 x i32> %35, <16 x i32> poison, <16 x i32> zeroinitializer
  %37 = shl nsw i32 %30, 4
  %38 = zext nneg i32 %37 to i64
  %39 = getelementptr inbounds nuw i32, ptr %20, i64 %38
  %40 = load <16 x i32>, ptr %39, align 4
  %41 = mul <16 x i32> %36, %40
  %42 = add <16 x i32> %41, %31
  %43 = add nuw nsw i32 %30, 1
  %44 = icmp eq i32 %43, %4
  br i1 %44, label %25, label %29
}

define internal void @wl.product_i32_32(ptr captures(none) %0, ptr readonly captures(none) %1, ptr readonly captures(none) %2, i32 %3, i32 %4, i32 %5) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %7 = icmp sgt i32 %3, 0
  br i1 %7, label %8, label %11

8:
  %9 = shl i32 %4, 5
  %10 = icmp sgt i32 %4, 0
  br label %12

11:
  ret void

12:
  %13 = phi i32 [ 0, %8 ], [ %27, %25 ]
  %14 = mul nsw i32 %13, %4
  %15 = sext i32 %14 to i64
  %16 = getelementptr inbounds i32, ptr %1, i64 %15
  %17 = sdiv i32 %13, %5
  %18 = mul i32 %9, %17
  %19 = sext i32 %18 to i64
  %20 = getelementptr inbounds i32, ptr %2, i64 %19
  %21 = shl nsw i32 %13, 5
  %22 = zext nneg i32 %21 to i64
  %23 = getelementptr inbounds nuw i32, ptr %0, i64 %22
  %24 = load <32 x i32>, ptr %23, align 4
  br i1 %10, label %29, label %25

25:
  %26 = phi <32 x i32> [ %24, %12 ], [ %42, %29 ]
  store <32 x i32> %26, ptr %23, align 4
  %27 = add nuw nsw i32 %13, 1
  %28 = icmp eq i32 %27, %3
  br i1 %28, label %11, label %12

29:
  %30 = phi i32 [ %43, %29 ], [ 0, %12 ]
  %31 = phi <32 x i32> [ %42, %29 ], [ %24, %12 ]
  %32 = zext nneg i32 %30 to i64
  %33 = getelementptr inbounds nuw i32, ptr %16, i64 %32
  %34 = load i32, ptr %33, align 4
  %35 = insertelement <32 x i32> poison, i32 %34, i64 0
  %36 = shufflevector <32 x i32> %35, <32 x i32> poison, <32 x i32> zeroinitializer
  %37 = shl nsw i32 %30, 5
  %38 = zext nneg i32 %37 to i64
  %39 = getelementptr inbounds nuw i32, ptr %20, i64 %38
  %40 = load <32 x i32>, ptr %39, align 4
  %41 = mul <32 x i32> %36, %40
  %42 = add <32 x i32> %41, %31
  %43 = add nuw nsw i32 %30, 1
  %44 = icmp eq i32 %43, %4
  br i1 %44, label %25, label %29
}

define internal void @wl.product_i64_8(ptr captures(none) %0, ptr readonly captures(none) %1, ptr readonly captures(none) %2, i32 %3, i32 %4, i32 %5) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %7 = icmp sgt i32 %3, 0
  br i1 %7, label %8, label %11

8:
  %9 = shl i32 %4, 3
  %10 = icmp sgt i32 %4, 0
  br label %12

11:
  ret void

12:
  %13 = phi i32 [ 0, %8 ], [ %27, %25 ]
  %14 = mul nsw i32 %13, %4
  %15 = sext i32 %14 to i64
  %16 = getelementptr inbounds i64, ptr %1, i64 %15
  %17 = sdiv i32 %13, %5
  %18 = mul i32 %9, %17
  %19 = sext i32 %18 to i64
  %20 = getelementptr inbounds i64, ptr %2, i64 %19
  %21 = shl nsw i32 %13, 3
  %22 = zext nneg i32 %21 to i64
  %23 = getelementptr inbounds nuw i64, ptr %0, i64 %22
  %24 = load <8 x i64>, ptr %23, align 4
  br i1 %10, label %29, label %25

25:
  %26 = phi <8 x i64> [ %24, %12 ], [ %42, %29 ]
  store <8 x i64> %26, ptr %23, align 4
  %27 = add nuw nsw i32 %13, 1
  %28 = icmp eq i32 %27, %3
  br i1 %28, label %11, label %12

29:
  %30 = phi i32 [ %43, %29 ], [ 0, %12 ]
  %31 = phi <8 x i64> [ %42, %29 ], [ %24, %12 ]
  %32 = zext nneg i32 %30 to i64
  %33 = getelementptr inbounds nuw i64, ptr %16, i64 %32
  %34 = load i64, ptr %33, align 8
  %35 = insertelement <8 x i64> poison, i64 %34, i64 0
  %36 = shufflevector <8 x i64> %35, <8 x i64> poison, <8 x i32> zeroinitializer
  %37 = shl nsw i32 %30, 3
  %38 = zext nneg i32 %37 to i64
  %39 = getelementptr inbounds nuw i64, ptr %20, i64 %38
  %40 = load <8 x i64>, ptr %39, align 4
  %41 = mul <8 x i64> %36, %40
  %42 = add <8 x i64> %41, %31
  %43 = add nuw nsw i32 %30, 1
  %44 = icmp eq i32 %43, %4
  br i1 %44, label %25, label %29
}

define internal void @wl.product_i64_16(ptr captures(none) %0, ptr readonly captures(none) %1, ptr readonly captures(none) %2, i32 %3, i32 %4, i32 %5) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %7 = icmp sgt i32 %3, 0
  br i1 %7, label %8, label %11

8:
  %9 = shl i32 %4, 4
  %10 = icmp sgt i32 %4, 0
  br label %12

11:
  ret void

12:
  %13 = phi i32 [ 0, %8 ], [ %27, %25 ]
  %14 = mul nsw i32 %13, %4
  %15 = sext i32 %14 to i64
  %16 = getelementptr inbounds i64, ptr %1, i64 %15
  %17 = sdiv i32 %13, %5
  %18 = mul i32 %9, %17
  %19 = sext i32 %18 to i64
  %20 = getelementptr inbounds i64, ptr %2, i64 %19
  %21 = shl nsw i32 %13, 4
  %22 = zext nneg i32 %21 to i64
  %23 = getelementptr inbounds nuw i64, ptr %0, i64 %22
  %24 = load <16 x i64>, ptr %23, align 4
  br i1 %10, label %29, label %25

25:
  %26 = phi <16 x i64> [ %24, %12 ], [ %42, %29 ]
  store <16 x i64> %26, ptr %23, align 4
  %27 = add nuw nsw i32 %13, 1
  %28 = icmp eq i32 %27, %3
  br i1 %28, label %11, label %12

29:
  %30 = phi i32 [ %43, %29 ], [ 0, %12 ]
  %31 = phi <16 x i64> [ %42, %29 ], [ %24, %12 ]
  %32 = zext nneg i32 %30 to i64
  %33 = getelementptr inbounds nuw i64, ptr %16, i64 %32
  %34 = load i64, ptr %33, align 8
  %35 = insertelement <16 x i64> poison, i64 %34, i64 0
  %36 = shufflevector <16 x i64> %35, <16 x i64> poison, <16 x i32> zeroinitializer
  %37 = shl nsw i32 %30, 4
  %38 = zext nneg i32 %37 to i64
  %39 = getelementptr inbounds nuw i64, ptr %20, i64 %38
  %40 = load <16 x i64>, ptr %39, align 4
  %41 = mul <16 x i64> %36, %40
  %42 = add <16 x i64> %41, %31
  %43 = add nuw nsw i32 %30, 1
  %44 = icmp eq i32 %43, %4
  br i1 %44, label %25, label %29
}

define internal void @wl.product_i64_32(ptr captures(none) %0, ptr readonly captures(none) %1, ptr readonly captures(none) %2, i32 %3, i32 %4, i32 %5) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %7 = icmp sgt i32 %3, 0
  br i1 %7, label %8, label %11

8:
  %9 = shl i32 %4, 5
  %10 = icmp sgt i32 %4, 0
  br label %12

11:
  ret void

12:
  %13 = phi i32 [ 0, %8 ], [ %27, %25 ]
  %14 = mul nsw i32 %13, %4
  %15 = sext i32 %14 to i64
  %16 = getelementptr inbounds i64, ptr %1, i64 %15
  %17 = sdiv i32 %13, %5
  %18 = mul i32 %9, %17
  %19 = sext i32 %18 to i64
  %20 = getelementptr inbounds i64, ptr %2, i64 %19
  %21 = shl nsw i32 %13, 5
  %22 = zext nneg i32 %21 to i64
  %23 = getelementptr inbounds nuw i64, ptr %0, i64 %22
  %24 = load <32 x i64>, ptr %23, align 4
  br i1 %10, label %29, label %25

25:
  %26 = phi <32 x i64> [ %24, %12 ], [ %42, %29 ]
  store <32 x i64> %26, ptr %23, align 4
  %27 = add nuw nsw i32 %13, 1
  %28 = icmp eq i32 %27, %3
  br i1 %28, label %11, label %12

29:
  %30 = phi i32 [ %43, %29 ], [ 0, %12 ]
  %31 = phi <32 x i64> [ %42, %29 ], [ %24, %12 ]
  %32 = zext nneg i32 %30 to i64
  %33 = getelementptr inbounds nuw i64, ptr %16, i64 %32
  %34 = load i64, ptr %33, align 8
  %35 = insertelement <32 x i64> poison, i64 %34, i64 0
  %36 = shufflevector <32 x i64> %35, <32 x i64> poison, <32 x i32> zeroinitializer
  %37 = shl nsw i32 %30, 5
  %38 = zext nneg i32 %37 to i64
  %39 = getelementptr inbounds nuw i64, ptr %20, i64 %38
  %40 = load <32 x i64>, ptr %39, align 4
  %41 = mul <32 x i64> %36, %40
  %42 = add <32 x i64> %41, %31
  %43 = add nuw nsw i32 %30, 1
  %44 = icmp eq i32 %43, %4
  br i1 %44, label %25, label %29
}

define internal void @wl.product_f64_8(ptr captures(none) %0, ptr readonly captures(none) %1, ptr readonly captures(none) %2, i32 %3, i32 %4, i32 %5) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %7 = icmp sgt i32 %3, 0
  br i1 %7, label %8, label %11

8:
  %9 = shl i32 %4, 3
  %10 = icmp sgt i32 %4, 0
  br label %12

11:
  ret void

12:
  %13 = phi i32 [ 0, %8 ], [ %27, %25 ]
  %14 = mul nsw i32 %13, %4
  %15 = sext i32 %14 to i64
  %16 = getelementptr inbounds double, ptr %1, i64 %15
  %17 = sdiv i32 %13, %5
  %18 = mul i32 %9, %17
  %19 = sext i32 %18 to i64
  %20 = getelementptr inbounds double, ptr %2, i64 %19
  %21 = shl nsw i32 %13, 3
  %22 = zext nneg i32 %21 to i64
  %23 = getelementptr inbounds nuw double, ptr %0, i64 %22
  %24 = load <8 x double>, ptr %23, align 4
  br i1 %10, label %29, label %25

25:
  %26 = phi <8 x double> [ %24, %12 ], [ %41, %29 ]
  store <8 x double> %26, ptr %23, align 4
  %27 = add nuw nsw i32 %13, 1
  %28 = icmp eq i32 %27, %3
  br i1 %28, label %11, label %12

29:
  %30 = phi i32 [ %42, %29 ], [ 0, %12 ]
  %31 = phi <8 x double> [ %41, %29 ], [ %24, %12 ]
  %32 = zext nneg i32 %30 to i64
  %33 = getelementptr inbounds nuw double, ptr %16, i64 %32
  %34 = load double, ptr %33, align 8
  %35 = insertelement <8 x double> poison, double %34, i64 0
  %36 = shufflevector <8 x double> %35, <8 x double> poison, <8 x i32> zeroinitializer
  %37 = shl nsw i32 %30, 3
  %38 = zext nneg i32 %37 to i64
  %39 = getelementptr inbounds nuw double, ptr %20, i64 %38
  %40 = load <8 x double>, ptr %39, align 4
  %41 = tail call <8 x double> @llvm.fma.v8f64(<8 x double> %36, <8 x double> %40, <8 x double> %31)
  %42 = add nuw nsw i32 %30, 1
  %43 = icmp eq i32 %42, %4
  br i1 %43, label %25, label %29
}

define internal void @wl.product_xor_8(ptr captures(none) %0, ptr readonly captures(none) %1, ptr readonly captures(none) %2, i32 %3, i32 %4, i32 %5) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %7 = icmp sgt i32 %3, 0
  br i1 %7, label %8, label %11

8:
  %9 = shl i32 %4, 3
  %10 = icmp sgt i32 %4, 0
  br label %12

11:
  ret void

12:
  %13 = phi i32 [ 0, %8 ], [ %27, %25 ]
  %14 = mul nsw i32 %13, %4
  %15 = sext i32 %14 to i64
  %16 = getelementptr inbounds i32, ptr %1, i64 %15
  %17 = sdiv i32 %13, %5
  %18 = mul i32 %9, %17
  %19 = sext i32 %18 to i64
  %20 = getelementptr inbounds i32, ptr %2, i64 %19
  %21 = shl nsw i32 %13, 3
  %22 = zext nneg i32 %21 to i64
  %23 = getelementptr inbounds nuw i32, ptr %0, i64 %22
  %24 = load <8 x i32>, ptr %23, align 4
  br i1 %10, label %29, label %25

25:
  %26 = phi <8 x i32> [ %24, %12 ], [ %43, %29 ]
  store <8 x i32> %26, ptr %23, align 4
  %27 = add nuw nsw i32 %13, 1
  %28 = icmp eq i32 %27, %3
  br i1 %28, label %11, label %12

29:
  %30 = phi i32 [ %44, %29 ], [ 0, %12 ]
  %31 = phi <8 x i32> [ %43, %29 ], [ %24, %12 ]
  %32 = zext nneg i32 %30 to i64
  %33 = getelementptr inbounds nuw i32, ptr %16, i64 %32
  %34 = load i32, ptr %33, align 4
  %35 = insertelement <8 x i32> poison, i32 %34, i64 0
  %36 = shufflevector <8 x i32> %35, <8 x i32> poison, <8 x i32> zeroinitializer
  %37 = shl nsw i32 %30, 3
  %38 = zext nneg i32 %37 to i64
  %39 = getelementptr inbounds nuw i32, ptr %20, i64 %38
  %40 = load <8 x i32>, ptr %39, align 4
  %41 = xor <8 x i32> %36, %40
  %42 = tail call range(i32 0, 33) <8 x i32> @llvm.ctpop.v8i32(<8 x i32> %41)
  %43 = add <8 x i32> %42, %31
  %44 = add nuw nsw i32 %30, 1
  %45 = icmp eq i32 %44, %4
  br i1 %45, label %25, label %29
}

define internal void @wl.product_and_8(ptr captures(none) %0, ptr readonly captures(none) %1, ptr readonly captures(none) %2, i32 %3, i32 %4, i32 %5) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %7 = icmp sgt i32 %3, 0
  br i1 %7, label %8, label %11

8:
  %9 = shl i32 %4, 3
  %10 = icmp sgt i32 %4, 0
  br label %12

11:
  ret void

12:
  %13 = phi i32 [ 0, %8 ], [ %27, %25 ]
  %14 = mul nsw i32 %13, %4
  %15 = sext i32 %14 to i64
  %16 = getelementptr inbounds i32, ptr %1, i64 %15
  %17 = sdiv i32 %13, %5
  %18 = mul i32 %9, %17
  %19 = sext i32 %18 to i64
  %20 = getelementptr inbounds i32, ptr %2, i64 %19
  %21 = shl nsw i32 %13, 3
  %22 = zext nneg i32 %21 to i64
  %23 = getelementptr inbounds nuw i32, ptr %0, i64 %22
  %24 = load <8 x i32>, ptr %23, align 4
  br i1 %10, label %29, label %25

25:
  %26 = phi <8 x i32> [ %24, %12 ], [ %43, %29 ]
  store <8 x i32> %26, ptr %23, align 4
  %27 = add nuw nsw i32 %13, 1
  %28 = icmp eq i32 %27, %3
  br i1 %28, label %11, label %12

29:
  %30 = phi i32 [ %44, %29 ], [ 0, %12 ]
  %31 = phi <8 x i32> [ %43, %29 ], [ %24, %12 ]
  %32 = zext nneg i32 %30 to i64
  %33 = getelementptr inbounds nuw i32, ptr %16, i64 %32
  %34 = load i32, ptr %33, align 4
  %35 = insertelement <8 x i32> poison, i32 %34, i64 0
  %36 = shufflevector <8 x i32> %35, <8 x i32> poison, <8 x i32> zeroinitializer
  %37 = shl nsw i32 %30, 3
  %38 = zext nneg i32 %37 to i64
  %39 = getelementptr inbounds nuw i32, ptr %20, i64 %38
  %40 = load <8 x i32>, ptr %39, align 4
  %41 = and <8 x i32> %36, %40
  %42 = tail call range(i32 0, 33) <8 x i32> @llvm.ctpop.v8i32(<8 x i32> %41)
  %43 = add <8 x i32> %42, %31
  %44 = add nuw nsw i32 %30, 1
  %45 = icmp eq i32 %44, %4
  br i1 %45, label %25, label %29
}

define internal void @wl.product_f64_rz_8(ptr captures(none) %0, ptr readonly captures(none) %1, ptr readonly captures(none) %2, i32 %3, i32 %4, i32 %5) alwaysinline nounwind {
  %7 = icmp sgt i32 %3, 0
  br i1 %7, label %8, label %19

8:
  %9 = icmp sgt i32 %4, 0
  br label %10

10:
  %11 = phi i32 [ 0, %8 ], [ %28, %27 ]
  br i1 %9, label %12, label %27

12:
  %13 = shl nsw i32 %11, 3
  %14 = zext nneg i32 %13 to i64
  %15 = getelementptr inbounds nuw double, ptr %0, i64 %14
  %16 = mul nuw nsw i32 %11, %4
  %17 = sdiv i32 %11, %5
  %18 = mul nsw i32 %17, %4
  br label %20

19:
  ret void

20:
  %21 = phi i32 [ 0, %12 ], [ %31, %30 ]
  %22 = add nuw nsw i32 %21, %16
  %23 = zext nneg i32 %22 to i64
  %24 = getelementptr inbounds nuw double, ptr %1, i64 %23
  %25 = add nsw i32 %18, %21
  %26 = shl nsw i32 %25, 3
  br label %33

27:
  %28 = add nuw nsw i32 %11, 1
  %29 = icmp eq i32 %28, %3
  br i1 %29, label %19, label %10

30:
  %31 = add nuw nsw i32 %21, 1
  %32 = icmp eq i32 %31, %4
  br i1 %32, label %27, label %20

33:
  %34 = phi i32 [ 0, %20 ], [ %44, %33 ]
  %35 = zext nneg i32 %34 to i64
  %36 = getelementptr inbounds nuw double, ptr %15, i64 %35
  %37 = load double, ptr %24, align 8
  %38 = add nuw nsw i32 %26, %34
  %39 = sext i32 %38 to i64
  %40 = getelementptr inbounds double, ptr %2, i64 %39
  %41 = load double, ptr %40, align 8
  %42 = load double, ptr %36, align 8
  %43 = tail call double @wl.rounded.fma.rz(double %37, double %41, double %42) nounwind
  store double %43, ptr %36, align 8
  %44 = add nuw nsw i32 %34, 1
  %45 = icmp eq i32 %44, 8
  br i1 %45, label %30, label %33
}

define internal void @wl.product_f64_rm_8(ptr captures(none) %0, ptr readonly captures(none) %1, ptr readonly captures(none) %2, i32 %3, i32 %4, i32 %5) alwaysinline nounwind {
  %7 = icmp sgt i32 %3, 0
  br i1 %7, label %8, label %19

8:
  %9 = icmp sgt i32 %4, 0
  br label %10

10:
  %11 = phi i32 [ 0, %8 ], [ %28, %27 ]
  br i1 %9, label %12, label %27

12:
  %13 = shl nsw i32 %11, 3
  %14 = zext nneg i32 %13 to i64
  %15 = getelementptr inbounds nuw double, ptr %0, i64 %14
  %16 = mul nuw nsw i32 %11, %4
  %17 = sdiv i32 %11, %5
  %18 = mul nsw i32 %17, %4
  br label %20

19:
  ret void

20:
  %21 = phi i32 [ 0, %12 ], [ %31, %30 ]
  %22 = add nuw nsw i32 %21, %16
  %23 = zext nneg i32 %22 to i64
  %24 = getelementptr inbounds nuw double, ptr %1, i64 %23
  %25 = add nsw i32 %18, %21
  %26 = shl nsw i32 %25, 3
  br label %33

27:
  %28 = add nuw nsw i32 %11, 1
  %29 = icmp eq i32 %28, %3
  br i1 %29, label %19, label %10

30:
  %31 = add nuw nsw i32 %21, 1
  %32 = icmp eq i32 %31, %4
  br i1 %32, label %27, label %20

33:
  %34 = phi i32 [ 0, %20 ], [ %44, %33 ]
  %35 = zext nneg i32 %34 to i64
  %36 = getelementptr inbounds nuw double, ptr %15, i64 %35
  %37 = load double, ptr %24, align 8
  %38 = add nuw nsw i32 %26, %34
  %39 = sext i32 %38 to i64
  %40 = getelementptr inbounds double, ptr %2, i64 %39
  %41 = load double, ptr %40, align 8
  %42 = load double, ptr %36, align 8
  %43 = tail call double @wl.rounded.fma.rm(double %37, double %41, double %42) nounwind
  store double %43, ptr %36, align 8
  %44 = add nuw nsw i32 %34, 1
  %45 = icmp eq i32 %44, 8
  br i1 %45, label %30, label %33
}

define internal void @wl.product_f64_rp_8(ptr captures(none) %0, ptr readonly captures(none) %1, ptr readonly captures(none) %2, i32 %3, i32 %4, i32 %5) alwaysinline nounwind {
  %7 = icmp sgt i32 %3, 0
  br i1 %7, label %8, label %19

8:
  %9 = icmp sgt i32 %4, 0
  br label %10

10:
  %11 = phi i32 [ 0, %8 ], [ %28, %27 ]
  br i1 %9, label %12, label %27

12:
  %13 = shl nsw i32 %11, 3
  %14 = zext nneg i32 %13 to i64
  %15 = getelementptr inbounds nuw double, ptr %0, i64 %14
  %16 = mul nuw nsw i32 %11, %4
  %17 = sdiv i32 %11, %5
  %18 = mul nsw i32 %17, %4
  br label %20

19:
  ret void

20:
  %21 = phi i32 [ 0, %12 ], [ %31, %30 ]
  %22 = add nuw nsw i32 %21, %16
  %23 = zext nneg i32 %22 to i64
  %24 = getelementptr inbounds nuw double, ptr %1, i64 %23
  %25 = add nsw i32 %18, %21
  %26 = shl nsw i32 %25, 3
  br label %33

27:
  %28 = add nuw nsw i32 %11, 1
  %29 = icmp eq i32 %28, %3
  br i1 %29, label %19, label %10

30:
  %31 = add nuw nsw i32 %21, 1
  %32 = icmp eq i32 %31, %4
  br i1 %32, label %27, label %20

33:
  %34 = phi i32 [ 0, %20 ], [ %44, %33 ]
  %35 = zext nneg i32 %34 to i64
  %36 = getelementptr inbounds nuw double, ptr %15, i64 %35
  %37 = load double, ptr %24, align 8
  %38 = add nuw nsw i32 %26, %34
  %39 = sext i32 %38 to i64
  %40 = getelementptr inbounds double, ptr %2, i64 %39
  %41 = load double, ptr %40, align 8
  %42 = load double, ptr %36, align 8
  %43 = tail call double @wl.rounded.fma.rp(double %37, double %41, double %42) nounwind
  store double %43, ptr %36, align 8
  %44 = add nuw nsw i32 %34, 1
  %45 = icmp eq i32 %44, 8
  br i1 %45, label %30, label %33
}

define internal void @wl.scatter_f32_to_f32(ptr readonly captures(none) %0, ptr writeonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 151552
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %11, label %10

10:
  ret void

11:
  %12 = phi i32 [ %20, %11 ], [ 0, %5 ]
  %13 = zext nneg i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr %3, i64 %13
  %15 = load i32, ptr %14, align 4
  %16 = zext i32 %15 to i64
  %17 = getelementptr inbounds nuw i8, ptr %8, i64 %16
  %18 = getelementptr inbounds nuw float, ptr %0, i64 %13
  %19 = load float, ptr %18, align 4
  store float %19, ptr %17, align 4
  %20 = add nuw nsw i32 %12, 1
  %21 = icmp eq i32 %20, %4
  br i1 %21, label %10, label %11
}

define internal void @wl.scatter_f32_to_f16(ptr readonly captures(none) %0, ptr writeonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 151552
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %11, label %10

10:
  ret void

11:
  %12 = phi i32 [ %21, %11 ], [ 0, %5 ]
  %13 = zext nneg i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr %3, i64 %13
  %15 = load i32, ptr %14, align 4
  %16 = zext i32 %15 to i64
  %17 = getelementptr inbounds nuw i8, ptr %8, i64 %16
  %18 = getelementptr inbounds nuw float, ptr %0, i64 %13
  %19 = load float, ptr %18, align 4
  %20 = fptrunc float %19 to half
  store half %20, ptr %17, align 2
  %21 = add nuw nsw i32 %12, 1
  %22 = icmp eq i32 %21, %4
  br i1 %22, label %10, label %11
}

define internal void @wl.scatter_f64_to_f64(ptr readonly captures(none) %0, ptr writeonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 151552
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %11, label %10

10:
  ret void

11:
  %12 = phi i32 [ %24, %11 ], [ 0, %5 ]
  %13 = zext nneg i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr %3, i64 %13
  %15 = load i32, ptr %14, align 4
  %16 = zext i32 %15 to i64
  %17 = getelementptr inbounds nuw i8, ptr %8, i64 %16
  %18 = getelementptr inbounds nuw double, ptr %0, i64 %13
  %19 = load i64, ptr %18, align 8
  %20 = trunc i64 %19 to i32
  store i32 %20, ptr %17, align 4
  %21 = lshr i64 %19, 32
  %22 = trunc nuw i64 %21 to i32
  %23 = getelementptr inbounds nuw i8, ptr %17, i64 4096
  store i32 %22, ptr %23, align 4
  %24 = add nuw nsw i32 %12, 1
  %25 = icmp eq i32 %24, %4
  br i1 %25, label %10, label %11
}

define internal void @wl.scatter_i32_to_s32(ptr readonly captures(none) %0, ptr writeonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 151552
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %11, label %10

10:
  ret void

11:
  %12 = phi i32 [ %20, %11 ], [ 0, %5 ]
  %13 = zext nneg i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr %3, i64 %13
  %15 = load i32, ptr %14, align 4
  %16 = zext i32 %15 to i64
  %17 = getelementptr inbounds nuw i8, ptr %8, i64 %16
  %18 = getelementptr inbounds nuw i32, ptr %0, i64 %13
  %19 = load i32, ptr %18, align 4
  store i32 %19, ptr %17, align 4
  %20 = add nuw nsw i32 %12, 1
  %21 = icmp eq i32 %20, %4
  br i1 %21, label %10, label %11
}

define internal void @wl.scatter_i64_to_s32(ptr readonly captures(none) %0, ptr writeonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 151552
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %11, label %10

10:
  ret void

11:
  %12 = phi i32 [ %23, %11 ], [ 0, %5 ]
  %13 = zext nneg i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr %3, i64 %13
  %15 = load i32, ptr %14, align 4
  %16 = zext i32 %15 to i64
  %17 = getelementptr inbounds nuw i8, ptr %8, i64 %16
  %18 = getelementptr inbounds nuw i64, ptr %0, i64 %13
  %19 = load i64, ptr %18, align 8
  %20 = tail call i64 @llvm.smax.i64(i64 %19, i64 -2147483648)
  %21 = tail call i64 @llvm.smin.i64(i64 %20, i64 2147483647)
  %22 = trunc nsw i64 %21 to i32
  store i32 %22, ptr %17, align 4
  %23 = add nuw nsw i32 %12, 1
  %24 = icmp eq i32 %23, %4
  br i1 %24, label %10, label %11
}

define internal void @wl.permute(ptr captures(none) %0, i32 %1, ptr readonly captures(none) %2, i32 %3) nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %6 = zext i32 %1 to i64
  %7 = getelementptr inbounds nuw i32, ptr %5, i64 %6
  %8 = icmp sgt i32 %3, 0
  br i1 %8, label %9, label %16

9:
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  br label %11

11:
  %12 = phi i32 [ 0, %9 ], [ %18, %17 ]
  %13 = zext nneg i32 %12 to i64
  %14 = getelementptr inbounds nuw [32 x [2 x i32]], ptr %2, i64 %13
  %15 = getelementptr inbounds nuw [1024 x i32], ptr %10, i64 %13
  br label %20

16:
  ret void

17:
  %18 = add nuw nsw i32 %12, 1
  %19 = icmp eq i32 %18, %3
  br i1 %19, label %16, label %11

20:
  %21 = phi i32 [ 0, %11 ], [ %40, %20 ]
  %22 = zext nneg i32 %21 to i64
  %23 = getelementptr inbounds nuw [2 x i32], ptr %14, i64 %22
  %24 = load i32, ptr %23, align 4
  %25 = zext i32 %24 to i64
  %26 = getelementptr inbounds nuw i8, ptr %7, i64 %25
  %27 = load i16, ptr %26, align 2
  %28 = zext i16 %27 to i32
  %29 = getelementptr inbounds nuw i8, ptr %23, i64 4
  %30 = load i32, ptr %29, align 4
  %31 = zext i32 %30 to i64
  %32 = getelementptr inbounds nuw i8, ptr %7, i64 %31
  %33 = load i16, ptr %32, align 2
  %34 = zext i16 %33 to i32
  %35 = shl nuw i32 %34, 16
  %36 = or disjoint i32 %35, %28
  %37 = add i32 %21, %1
  %38 = zext i32 %37 to i64
  %39 = getelementptr inbounds nuw i32, ptr %15, i64 %38
  store i32 %36, ptr %39, align 4
  %40 = add nuw nsw i32 %21, 1
  %41 = icmp eq i32 %40, 32
  br i1 %41, label %17, label %20
}

define internal i64 @wl.mbarrier(i64 %0, i64 %1, i64 %2, i64 %3) mustprogress nofree norecurse nosync nounwind willreturn memory(none) {
  %5 = and i64 %0, 1048575
  %6 = sub nsw i64 %5, %1
  %7 = lshr i64 %0, 20
  %8 = sub i64 %7, %2
  %9 = shl i64 %0, 1
  %10 = ashr i64 %9, 41
  %11 = add nsw i64 %3, %10
  %12 = icmp slt i64 %6, 1
  %13 = icmp eq i64 %11, 0
  %14 = select i1 %12, i1 %13, i1 false
  %15 = select i1 %14, i64 %8, i64 %6
  %16 = and i64 %15, 1048575
  %17 = shl i64 %8, 20
  %18 = and i64 %17, 1099510579200
  %19 = shl i64 %11, 40
  %20 = and i64 %19, 9223370937343148032
  %21 = select i1 %14, i64 -9223372036854775808, i64 0
  %22 = and i64 %0, -9223372036854775808
  %23 = xor i64 %21, %22
  %24 = or disjoint i64 %20, %18
  %25 = or disjoint i64 %24, %16
  %26 = or disjoint i64 %25, %23
  ret i64 %26
}

%struct.frame = type { ptr, ptr, ptr, ptr, i32, i32, i32, i32, i32, i32, i32, %struct.kernel }

%struct.kernel = type { ptr, ptr, i32, i32, i32, i32 }

%struct.phase = type { ptr, ptr, ptr, ptr, i32, i32, i32, i32, i32, i32, i32, i32 }

%struct.pieces = type { i32, [16 x %struct.piece] }

%struct.piece = type { i32, i32, i32 }

define internal void @wl.run_thread_block(ptr readonly captures(none) %0, ptr %1, ptr %2, ptr %3, i32 %4, i32 %5, i32 %6) alwaysinline nounwind {
  %8 = alloca %struct.frame, align 8
  %9 = getelementptr inbounds nuw i8, ptr %1, i64 24
  %10 = load i64, ptr %9, align 8
  %11 = trunc i64 %10 to i32
  %12 = getelementptr inbounds nuw i8, ptr %1, i64 32
  %13 = load i64, ptr %12, align 8
  %14 = trunc i64 %13 to i32
  %15 = getelementptr inbounds nuw i8, ptr %1, i64 40
  %16 = load i64, ptr %15, align 8
  %17 = trunc i64 %16 to i32
  %18 = getelementptr inbounds nuw i8, ptr %3, i64 8
  %19 = load i64, ptr %18, align 8
  %20 = inttoptr i64 %19 to ptr
  call void @llvm.lifetime.start.p0(ptr nonnull %8) nounwind
  store ptr %1, ptr %8, align 8
  %21 = getelementptr inbounds nuw i8, ptr %8, i64 8
  store ptr %2, ptr %21, align 8
  %22 = getelementptr inbounds nuw i8, ptr %8, i64 16
  store ptr %3, ptr %22, align 8
  %23 = getelementptr inbounds nuw i8, ptr %8, i64 24
  store ptr %20, ptr %23, align 8
  %24 = getelementptr inbounds nuw i8, ptr %8, i64 32
  store i32 %4, ptr %24, align 8
  %25 = getelementptr inbounds nuw i8, ptr %8, i64 36
  store i32 %5, ptr %25, align 4
  %26 = getelementptr inbounds nuw i8, ptr %8, i64 40
  store i32 %6, ptr %26, align 8
  %27 = getelementptr inbounds nuw i8, ptr %8, i64 44
  store i32 %11, ptr %27, align 4
  %28 = getelementptr inbounds nuw i8, ptr %8, i64 48
  store i32 %14, ptr %28, align 8
  %29 = getelementptr inbounds nuw i8, ptr %8, i64 52
  store i32 %17, ptr %29, align 4
  %30 = getelementptr inbounds nuw i8, ptr %8, i64 56
  %31 = mul i32 %14, %11
  %32 = mul i32 %31, %17
  store i32 %32, ptr %30, align 8
  %33 = getelementptr inbounds nuw i8, ptr %8, i64 60
  store i32 0, ptr %33, align 4
  %34 = getelementptr inbounds nuw i8, ptr %8, i64 64
  call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 8 dereferenceable(32) %34, ptr noundef nonnull align 8 dereferenceable(32) %0, i64 32, i1 false)
  %35 = getelementptr inbounds nuw i8, ptr %20, i64 217088
  tail call void @llvm.memset.p0.i64(ptr noundef nonnull align 4 dereferenceable(68) %35, i8 0, i64 68, i1 false)
  %36 = getelementptr inbounds nuw i8, ptr %0, i64 28
  %37 = getelementptr inbounds nuw i8, ptr %0, i64 8
  br label %38

38:
  %39 = phi i32 [ 0, %7 ], [ %91, %105 ]
  %40 = load ptr, ptr %0, align 8
  %41 = call i32 %40(ptr nonnull %8, i32 0, i32 %11, i32 0, i32 %14, i32 0, i32 %17, i1 zeroext true, i32 %39) nounwind
  %42 = load ptr, ptr %22, align 8
  %43 = getelementptr inbounds nuw i8, ptr %42, i64 16
  %44 = load i64, ptr %43, align 8
  %45 = load ptr, ptr %8, align 8
  %46 = getelementptr inbounds nuw i8, ptr %45, i64 80
  %47 = load ptr, ptr %46, align 8
  %48 = load volatile i64, ptr %47, align 8
  %49 = or i64 %48, %44
  %50 = icmp eq i64 %49, 0
  br i1 %50, label %51, label %106

51:
  %52 = icmp eq i32 %41, 0
  br i1 %52, label %53, label %56

53:
  %54 = load i32, ptr %30, align 8
  %55 = call fastcc i32 @wl.common_state(ptr %20, i32 %54)
  br label %56

56:
  %57 = phi i32 [ %55, %53 ], [ %41, %51 ]
  switch i32 %57, label %60 [
    i32 -1, label %106
    i32 0, label %58
  ]

58:
  %59 = load ptr, ptr %37, align 8
  br label %70

60:
  %61 = load i32, ptr %36, align 4
  %62 = icmp eq i32 %61, 0
  %63 = load ptr, ptr %37, align 8
  br i1 %62, label %89, label %64

64:
  %65 = sext i32 %57 to i64
  %66 = getelementptr inbounds %struct.phase, ptr %63, i64 %65
  %67 = getelementptr inbounds nuw i8, ptr %66, i64 32
  %68 = load i32, ptr %67, align 8
  %69 = icmp eq i32 %68, 1
  br i1 %69, label %70, label %89

70:
  %71 = phi ptr [ %59, %58 ], [ %63, %64 ]
  %72 = sext i32 %39 to i64
  %73 = getelementptr inbounds %struct.phase, ptr %71, i64 %72
  %74 = getelementptr inbounds nuw i8, ptr %73, i64 24
  %75 = load ptr, ptr %74, align 8
  %76 = load i32, ptr %30, align 8
  call fastcc void @wl.spread(ptr %20, ptr %75, i32 0, i32 %76)
  %77 = load i32, ptr %36, align 4
  %78 = icmp eq i32 %77, 0
  br i1 %78, label %79, label %81

79:
  %80 = call fastcc i32 @wl.run_pieces(ptr %8)
  br label %81

81:
  %82 = phi i32 [ %57, %70 ], [ %80, %79 ]
  switch i32 %82, label %83 [
    i32 -1, label %106
    i32 0, label %88
  ]

83:
  %84 = load i32, ptr %36, align 4
  %85 = icmp eq i32 %84, 0
  br i1 %85, label %86, label %88

86:
  %87 = load ptr, ptr %37, align 8
  br label %89

88:
  call fastcc void @wl.run_diverged(ptr %8, i32 %82)
  br label %106

89:
  %90 = phi ptr [ %87, %86 ], [ %63, %64 ], [ %63, %60 ]
  %91 = phi i32 [ %82, %86 ], [ %57, %64 ], [ %57, %60 ]
  %92 = sext i32 %91 to i64
  %93 = getelementptr inbounds %struct.phase, ptr %90, i64 %92
  %94 = load ptr, ptr %93, align 8
  %95 = icmp eq ptr %94, null
  br i1 %95, label %100, label %96

96:
  %97 = getelementptr inbounds nuw i8, ptr %93, i64 60
  %98 = load i32, ptr %97, align 4
  %99 = icmp eq i32 %98, 0
  br i1 %99, label %104, label %100

100:
  %101 = getelementptr inbounds nuw i8, ptr %93, i64 32
  %102 = load i32, ptr %101, align 8
  %103 = icmp eq i32 %102, 3
  br i1 %103, label %104, label %105

104:
  call fastcc void @wl.resolve(ptr %8, i32 %91)
  br label %105

105:
  br label %38

106:
  call void @llvm.lifetime.end.p0(ptr nonnull %8) nounwind
  ret void
}

define internal fastcc i32 @wl.common_state(ptr readonly captures(none) %0, i32 %1) unnamed_addr minsize nofree noinline norecurse nosync nounwind memory(argmem: read) {
  %3 = tail call fastcc i32 @wl.same_states(ptr %0, i32 %1)
  %4 = icmp eq i32 %3, %1
  br i1 %4, label %5, label %7

5:
  %6 = load i32, ptr %0, align 4
  br label %7

7:
  %8 = phi i32 [ %6, %5 ], [ 0, %2 ]
  ret i32 %8
}

define internal fastcc void @wl.spread(ptr captures(none) %0, ptr readonly captures(none) %1, i32 %2, i32 %3) unnamed_addr minsize nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = freeze i32 %3
  %6 = icmp ugt i32 %5, 1
  br i1 %6, label %7, label %37

7:
  %8 = phi ptr [ %23, %22 ], [ %1, %4 ]
  %9 = getelementptr inbounds nuw i8, ptr %8, i64 4
  %10 = load i32, ptr %9, align 4
  %11 = icmp eq i32 %10, 0
  br i1 %11, label %37, label %12

12:
  %13 = load i32, ptr %8, align 4
  %14 = zext i32 %13 to i64
  %15 = getelementptr inbounds nuw i8, ptr %0, i64 %14
  %16 = mul i32 %10, %2
  %17 = zext i32 %16 to i64
  %18 = getelementptr inbounds nuw i8, ptr %15, i64 %17
  br label %19

19:
  %20 = phi i32 [ 1, %12 ], [ %36, %35 ]
  %21 = icmp eq i32 %20, %5
  br i1 %21, label %22, label %24

22:
  %23 = getelementptr inbounds nuw i8, ptr %8, i64 8
  br label %7

24:
  %25 = load i32, ptr %9, align 4
  %26 = mul i32 %25, %20
  %27 = zext i32 %26 to i64
  %28 = getelementptr inbounds nuw i8, ptr %18, i64 %27
  switch i32 %25, label %33 [
    i32 4, label %29
    i32 8, label %31
  ]

29:
  %30 = load i32, ptr %18, align 4
  store i32 %30, ptr %28, align 4
  br label %35

31:
  %32 = load i64, ptr %18, align 8
  store i64 %32, ptr %28, align 8
  br label %35

33:
  %34 = zext i32 %25 to i64
  tail call void @llvm.memcpy.p0.p0.i64(ptr align 1 %28, ptr align 1 %18, i64 %34, i1 false)
  br label %35

35:
  %36 = add i32 %20, 1
  br label %19

37:
  ret void
}

define internal fastcc i32 @wl.run_pieces(ptr nonnull %0) unnamed_addr minsize noinline nounwind {
  %2 = alloca %struct.pieces, align 4
  call void @llvm.lifetime.start.p0(ptr nonnull %2) nounwind
  %3 = getelementptr inbounds nuw i8, ptr %2, i64 4
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 4 dereferenceable(192) %3, i8 0, i64 192, i1 false)
  store i32 1, ptr %2, align 4
  %4 = getelementptr inbounds nuw i8, ptr %2, i64 4
  %5 = getelementptr inbounds nuw i8, ptr %2, i64 8
  %6 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %7 = load i32, ptr %6, align 8
  store i32 %7, ptr %5, align 4
  %8 = getelementptr inbounds nuw i8, ptr %2, i64 12
  %9 = call fastcc zeroext i1 @wl.cut(ptr %0, ptr %2, i32 0)
  br i1 %9, label %10, label %243

10:
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %12 = getelementptr inbounds nuw i8, ptr %0, i64 72
  %13 = getelementptr inbounds nuw i8, ptr %0, i64 80
  %14 = getelementptr inbounds nuw i8, ptr %0, i64 24
  br label %15

15:
  %16 = phi i8 [ 1, %10 ], [ %68, %67 ]
  %17 = phi i32 [ 0, %10 ], [ %69, %67 ]
  %18 = phi i1 [ false, %10 ], [ %70, %67 ]
  %19 = trunc nuw i8 %16 to i1
  %20 = load i32, ptr %2, align 4
  %21 = icmp ult i32 %17, %20
  %22 = select i1 %19, i1 %21, i1 false
  br i1 %22, label %23, label %27

23:
  %24 = zext i32 %17 to i64
  %25 = getelementptr inbounds nuw %struct.piece, ptr %4, i64 %24
  %26 = getelementptr inbounds nuw i8, ptr %25, i64 8
  br label %37

27:
  %28 = load ptr, ptr %11, align 8
  %29 = getelementptr inbounds nuw i8, ptr %28, i64 16
  %30 = load i64, ptr %29, align 8
  %31 = load ptr, ptr %0, align 8
  %32 = getelementptr inbounds nuw i8, ptr %31, i64 80
  %33 = load ptr, ptr %32, align 8
  %34 = load volatile i64, ptr %33, align 8
  %35 = or i64 %34, %30
  %36 = icmp eq i64 %35, 0
  br i1 %36, label %75, label %243

37:
  %38 = phi i8 [ %73, %71 ], [ 1, %23 ]
  %39 = phi i32 [ %74, %71 ], [ 0, %23 ]
  %40 = phi i1 [ true, %71 ], [ %18, %23 ]
  %41 = trunc nuw i8 %38 to i1
  %42 = icmp samesign ult i32 %39, 64
  %43 = select i1 %41, i1 %42, i1 false
  br i1 %43, label %44, label %65

44:
  %45 = load i32, ptr %26, align 4
  %46 = load ptr, ptr %12, align 8
  %47 = load i32, ptr %13, align 8
  %48 = icmp ult i32 %45, %47
  %49 = select i1 %48, i32 %45, i32 0
  %50 = zext i32 %49 to i64
  %51 = getelementptr inbounds nuw %struct.phase, ptr %46, i64 %50
  %52 = getelementptr inbounds nuw i8, ptr %51, i64 32
  %53 = load i32, ptr %52, align 8
  %54 = icmp eq i32 %53, 2
  br i1 %54, label %55, label %65

55:
  %56 = load ptr, ptr %11, align 8
  %57 = getelementptr inbounds nuw i8, ptr %56, i64 16
  %58 = load i64, ptr %57, align 8
  %59 = load ptr, ptr %0, align 8
  %60 = getelementptr inbounds nuw i8, ptr %59, i64 80
  %61 = load ptr, ptr %60, align 8
  %62 = load volatile i64, ptr %61, align 8
  %63 = or i64 %62, %58
  %64 = icmp eq i64 %63, 0
  br i1 %64, label %71, label %65

65:
  %66 = add i32 %17, 1
  br label %67

67:
  %68 = phi i8 [ %38, %65 ], [ 1, %239 ]
  %69 = phi i32 [ %66, %65 ], [ 0, %239 ]
  %70 = phi i1 [ %40, %65 ], [ false, %239 ]
  br label %15

71:
  %72 = call fastcc zeroext i1 @wl.run_whole_warps(ptr %0, ptr %2, i32 %17)
  %73 = zext i1 %72 to i8
  %74 = add nuw nsw i32 %39, 1
  br label %37

75:
  %76 = load i32, ptr %8, align 4
  br label %77

77:
  %78 = phi i32 [ %76, %75 ], [ %94, %85 ]
  %79 = phi i32 [ 0, %75 ], [ %96, %85 ]
  %80 = phi i32 [ 0, %75 ], [ %92, %85 ]
  %81 = phi i32 [ 0, %75 ], [ %97, %85 ]
  %82 = icmp eq i32 %81, %20
  br i1 %82, label %83, label %85

83:
  %84 = icmp eq i32 %79, 0
  br i1 %84, label %243, label %98

85:
  %86 = zext i32 %81 to i64
  %87 = getelementptr inbounds nuw %struct.piece, ptr %4, i64 %86
  %88 = getelementptr inbounds nuw i8, ptr %87, i64 8
  %89 = load i32, ptr %88, align 4
  %90 = icmp eq i32 %89, %76
  %91 = zext i1 %90 to i32
  %92 = add i32 %80, %91
  %93 = icmp ne i32 %89, -1
  %94 = select i1 %93, i32 %89, i32 %78
  %95 = zext i1 %93 to i32
  %96 = add i32 %79, %95
  %97 = add i32 %81, 1
  br label %77

98:
  br i1 %19, label %99, label %178

99:
  %100 = load ptr, ptr %12, align 8
  %101 = load i32, ptr %13, align 8
  %102 = icmp ult i32 %78, %101
  %103 = select i1 %102, i32 %78, i32 0
  %104 = zext i32 %103 to i64
  %105 = getelementptr inbounds nuw %struct.phase, ptr %100, i64 %104
  %106 = getelementptr inbounds nuw i8, ptr %105, i64 32
  %107 = load i32, ptr %106, align 8
  %108 = icmp eq i32 %107, 1
  br i1 %108, label %109, label %140

109:
  %110 = getelementptr inbounds nuw i8, ptr %105, i64 40
  %111 = load i32, ptr %110, align 8
  %112 = icmp slt i32 %111, 0
  br i1 %112, label %140, label %113

113:
  %114 = getelementptr inbounds nuw i8, ptr %105, i64 44
  %115 = load i32, ptr %114, align 4
  %116 = icmp eq i32 %115, 0
  br i1 %116, label %117, label %140

117:
  %118 = load ptr, ptr %14, align 8
  %119 = getelementptr inbounds nuw i8, ptr %118, i64 217088
  %120 = zext nneg i32 %111 to i64
  %121 = getelementptr inbounds nuw i32, ptr %119, i64 %120
  %122 = load i32, ptr %121, align 4
  %123 = icmp eq i32 %122, 0
  br i1 %123, label %124, label %140

124:
  %125 = phi i32 [ %135, %127 ], [ 0, %117 ]
  %126 = icmp eq i32 %125, %20
  br i1 %126, label %136, label %127

127:
  %128 = zext i32 %125 to i64
  %129 = getelementptr inbounds nuw %struct.piece, ptr %2, i64 %128
  %130 = getelementptr inbounds nuw i8, ptr %129, i64 12
  %131 = load i32, ptr %130, align 4
  %132 = icmp eq i32 %131, %78
  %133 = icmp eq i32 %131, -1
  %134 = or i1 %132, %133
  %135 = add i32 %125, 1
  br i1 %134, label %124, label %140

136:
  %137 = load ptr, ptr %105, align 8
  %138 = icmp eq ptr %137, null
  br i1 %138, label %140, label %139

139:
  call fastcc void @wl.note_states(ptr %0, ptr %2)
  br label %140

140:
  %141 = phi i1 [ false, %113 ], [ true, %139 ], [ true, %136 ], [ false, %109 ], [ false, %99 ], [ false, %117 ], [ false, %127 ]
  %142 = icmp eq i32 %80, %20
  br i1 %142, label %143, label %165

143:
  %144 = load ptr, ptr %12, align 8
  %145 = load i32, ptr %13, align 8
  br i1 %141, label %154, label %146

146:
  %147 = icmp ult i32 %78, %145
  %148 = select i1 %147, i32 %78, i32 0
  %149 = zext i32 %148 to i64
  %150 = getelementptr inbounds nuw %struct.phase, ptr %144, i64 %149
  %151 = getelementptr inbounds nuw i8, ptr %150, i64 32
  %152 = load i32, ptr %151, align 8
  %153 = icmp sgt i32 %152, 2
  br i1 %153, label %154, label %178

154:
  %155 = load ptr, ptr %14, align 8
  %156 = icmp ult i32 %78, %145
  %157 = select i1 %156, i32 %78, i32 0
  %158 = zext i32 %157 to i64
  %159 = getelementptr inbounds nuw %struct.phase, ptr %144, i64 %158
  %160 = getelementptr inbounds nuw i8, ptr %159, i64 8
  %161 = load ptr, ptr %160, align 8
  %162 = load i32, ptr %6, align 8
  %163 = tail call fastcc i32 @wl.alike(ptr %155, ptr %161, i32 0, i32 %162)
  %164 = icmp eq i32 %163, %162
  br i1 %164, label %243, label %165

165:
  br i1 %141, label %166, label %178

166:
  %167 = load ptr, ptr %12, align 8
  %168 = load i32, ptr %13, align 8
  %169 = icmp ult i32 %78, %168
  %170 = select i1 %169, i32 %78, i32 0
  %171 = zext i32 %170 to i64
  %172 = getelementptr inbounds nuw %struct.phase, ptr %167, i64 %171
  %173 = load ptr, ptr %172, align 8
  %174 = icmp eq ptr %173, null
  br i1 %174, label %178, label %175

175:
  %176 = load ptr, ptr %14, align 8
  %177 = load i32, ptr %6, align 8
  tail call void %173(ptr %176, i32 0, i32 %177, i32 %78) nounwind
  br label %178

178:
  %179 = phi i1 [ true, %175 ], [ true, %166 ], [ false, %165 ], [ false, %146 ], [ false, %98 ]
  br label %180

180:
  %181 = phi i32 [ %20, %178 ], [ %231, %230 ]
  %182 = phi i8 [ %16, %178 ], [ %232, %230 ]
  %183 = phi i1 [ %18, %178 ], [ %233, %230 ]
  %184 = phi i1 [ false, %178 ], [ %234, %230 ]
  %185 = phi i32 [ 0, %178 ], [ %236, %230 ]
  %186 = trunc nuw i8 %182 to i1
  %187 = icmp ult i32 %185, %181
  %188 = select i1 %186, i1 %187, i1 false
  br i1 %188, label %189, label %199

189:
  %190 = load ptr, ptr %11, align 8
  %191 = getelementptr inbounds nuw i8, ptr %190, i64 16
  %192 = load i64, ptr %191, align 8
  %193 = load ptr, ptr %0, align 8
  %194 = getelementptr inbounds nuw i8, ptr %193, i64 80
  %195 = load ptr, ptr %194, align 8
  %196 = load volatile i64, ptr %195, align 8
  %197 = or i64 %196, %192
  %198 = icmp eq i64 %197, 0
  br i1 %198, label %202, label %199

199:
  %200 = xor i1 %183, true
  %201 = select i1 %200, i1 %184, i1 false
  br i1 %201, label %237, label %239

202:
  %203 = zext i32 %185 to i64
  %204 = getelementptr inbounds nuw %struct.piece, ptr %4, i64 %203
  %205 = getelementptr inbounds nuw i8, ptr %204, i64 8
  %206 = load i32, ptr %205, align 4
  %207 = load ptr, ptr %12, align 8
  %208 = load i32, ptr %13, align 8
  %209 = icmp ult i32 %206, %208
  %210 = select i1 %209, i32 %206, i32 0
  %211 = zext i32 %210 to i64
  %212 = getelementptr inbounds nuw %struct.phase, ptr %207, i64 %211
  %213 = getelementptr inbounds nuw i8, ptr %212, i64 32
  %214 = load i32, ptr %213, align 8
  %215 = icmp sgt i32 %214, 2
  %216 = icmp eq i32 %206, %78
  %217 = select i1 %179, i1 %216, i1 false
  %218 = select i1 %215, i1 true, i1 %217
  br i1 %218, label %219, label %230

219:
  %220 = icmp eq i32 %214, 3
  %221 = or i1 %184, %220
  %222 = icmp ne i32 %214, 3
  %223 = or i1 %183, %222
  %224 = call fastcc zeroext i1 @wl.run_piece(ptr %0, ptr %2, i32 %185)
  %225 = zext i1 %224 to i8
  %226 = load i32, ptr %2, align 4
  %227 = sub i32 %226, %181
  %228 = select i1 %224, i32 %227, i32 0
  %229 = add i32 %228, %185
  br label %230

230:
  %231 = phi i32 [ %226, %219 ], [ %181, %202 ]
  %232 = phi i8 [ %225, %219 ], [ 1, %202 ]
  %233 = phi i1 [ %223, %219 ], [ %183, %202 ]
  %234 = phi i1 [ %221, %219 ], [ %184, %202 ]
  %235 = phi i32 [ %229, %219 ], [ %185, %202 ]
  %236 = add i32 %235, 1
  br label %180

237:
  %238 = tail call i32 @sched_yield() nounwind
  br label %239

239:
  %240 = select i1 %183, i1 true, i1 %184
  %241 = select i1 %186, i1 %240, i1 false
  br i1 %241, label %67, label %242

242:
  call fastcc void @wl.note_states(ptr %0, ptr %2)
  br label %243

243:
  %244 = phi i32 [ 0, %1 ], [ 0, %242 ], [ -1, %27 ], [ -1, %83 ], [ %78, %154 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %2) nounwind
  ret i32 %244
}

define internal fastcc void @wl.run_diverged(ptr nonnull %0, i32 range(i32 0, -1) %1) unnamed_addr minsize noinline nounwind {
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 92
  %4 = getelementptr inbounds nuw i8, ptr %0, i64 72
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 80
  %6 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 56
  br label %9

9:
  %10 = phi i32 [ %1, %2 ], [ %47, %46 ]
  switch i32 %10, label %11 [
    i32 -1, label %48
    i32 0, label %24
  ]

11:
  %12 = load i32, ptr %3, align 4
  %13 = icmp eq i32 %12, 0
  br i1 %13, label %27, label %14

14:
  %15 = load ptr, ptr %4, align 8
  %16 = load i32, ptr %5, align 8
  %17 = icmp ult i32 %10, %16
  %18 = select i1 %17, i32 %10, i32 0
  %19 = zext i32 %18 to i64
  %20 = getelementptr inbounds nuw %struct.phase, ptr %15, i64 %19
  %21 = getelementptr inbounds nuw i8, ptr %20, i64 32
  %22 = load i32, ptr %21, align 8
  %23 = icmp eq i32 %22, 1
  br i1 %23, label %24, label %27

24:
  %25 = tail call fastcc zeroext i1 @wl.run_round(ptr %0)
  br i1 %25, label %29, label %26

26:
  tail call fastcc void @wl.report_deadlock(ptr %0)
  br label %48

27:
  tail call fastcc void @wl.resolve(ptr %0, i32 %10)
  %28 = tail call fastcc i32 @wl.run_all(ptr %0, i32 %10)
  br label %29

29:
  %30 = phi i32 [ %28, %27 ], [ 0, %24 ]
  %31 = load ptr, ptr %6, align 8
  %32 = getelementptr inbounds nuw i8, ptr %31, i64 16
  %33 = load i64, ptr %32, align 8
  %34 = load ptr, ptr %0, align 8
  %35 = getelementptr inbounds nuw i8, ptr %34, i64 80
  %36 = load ptr, ptr %35, align 8
  %37 = load volatile i64, ptr %36, align 8
  %38 = or i64 %37, %33
  %39 = icmp eq i64 %38, 0
  br i1 %39, label %40, label %48

40:
  %41 = icmp eq i32 %30, 0
  br i1 %41, label %42, label %46

42:
  %43 = load ptr, ptr %7, align 8
  %44 = load i32, ptr %8, align 8
  %45 = tail call fastcc i32 @wl.common_state(ptr %43, i32 %44)
  br label %46

46:
  %47 = phi i32 [ %45, %42 ], [ %30, %40 ]
  br label %9

48:
  ret void
}

define internal fastcc void @wl.resolve(ptr nonnull readonly captures(none) %0, i32 range(i32 1, -1) %1) unnamed_addr noinline nounwind {
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 72
  %4 = load ptr, ptr %3, align 8
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 80
  %6 = load i32, ptr %5, align 8
  %7 = icmp ult i32 %1, %6
  %8 = select i1 %7, i32 %1, i32 0
  %9 = zext i32 %8 to i64
  %10 = getelementptr inbounds nuw %struct.phase, ptr %4, i64 %9
  %11 = getelementptr inbounds nuw i8, ptr %10, i64 32
  %12 = load i32, ptr %11, align 8
  switch i32 %12, label %37 [
    i32 2, label %13
    i32 1, label %27
    i32 3, label %35
  ]

13:
  %14 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %15 = load i32, ptr %14, align 8
  %16 = icmp eq i32 %15, 0
  br i1 %16, label %37, label %17

17:
  %18 = phi i32 [ %25, %17 ], [ %15, %13 ]
  %19 = phi i32 [ %24, %17 ], [ 0, %13 ]
  %20 = sub nuw i32 %18, %19
  %21 = tail call i32 @llvm.umin.i32(i32 %20, i32 32)
  %22 = sub nuw nsw i32 32, %21
  %23 = lshr i32 -1, %22
  tail call fastcc void @wl.resolve_warp(ptr %0, ptr nonnull %10, i32 %19, i32 %21, i32 %23)
  %24 = add i32 %19, 32
  %25 = load i32, ptr %14, align 8
  %26 = icmp ult i32 %24, %25
  br i1 %26, label %17, label %37

27:
  %28 = load ptr, ptr %10, align 8
  %29 = icmp eq ptr %28, null
  br i1 %29, label %37, label %30

30:
  %31 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %32 = load ptr, ptr %31, align 8
  %33 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %34 = load i32, ptr %33, align 8
  tail call void %28(ptr %32, i32 0, i32 %34, i32 %1) nounwind
  br label %37

35:
  %36 = tail call i32 @sched_yield() nounwind
  br label %37

37:
  ret void
}

define internal fastcc i32 @wl.same_states(ptr readonly captures(none) %0, i32 %1) unnamed_addr nofree noinline norecurse nosync nounwind memory(argmem: read) {
  br label %3

3:
  %4 = phi i32 [ 0, %2 ], [ %5, %9 ]
  %5 = add i32 %4, 32
  %6 = icmp ugt i32 %5, %1
  br i1 %6, label %22, label %7

7:
  %8 = load i32, ptr %0, align 4
  br label %11

9:
  %10 = icmp eq i32 %19, 0
  br i1 %10, label %3, label %22

11:
  %12 = phi i32 [ 0, %7 ], [ %20, %11 ]
  %13 = phi i32 [ 0, %7 ], [ %19, %11 ]
  %14 = or disjoint i32 %12, %4
  %15 = zext i32 %14 to i64
  %16 = getelementptr inbounds nuw i32, ptr %0, i64 %15
  %17 = load i32, ptr %16, align 4
  %18 = xor i32 %8, %17
  %19 = or i32 %18, %13
  %20 = add nuw nsw i32 %12, 1
  %21 = icmp eq i32 %20, 32
  br i1 %21, label %9, label %11

22:
  %23 = icmp ult i32 %4, %1
  br i1 %23, label %24, label %35

24:
  %25 = load i32, ptr %0, align 4
  br label %26

26:
  %27 = phi i32 [ %4, %24 ], [ %33, %32 ]
  %28 = zext i32 %27 to i64
  %29 = getelementptr inbounds nuw i32, ptr %0, i64 %28
  %30 = load i32, ptr %29, align 4
  %31 = icmp eq i32 %30, %25
  br i1 %31, label %32, label %35

32:
  %33 = add i32 %27, 1
  %34 = icmp eq i32 %33, %1
  br i1 %34, label %35, label %26

35:
  %36 = phi i32 [ %4, %22 ], [ %1, %32 ], [ %27, %26 ]
  ret i32 %36
}

define internal fastcc noundef zeroext i1 @wl.cut(ptr nonnull readonly captures(none) %0, ptr nonnull captures(none) %1, i32 %2) unnamed_addr minsize nofree noinline norecurse nounwind memory(read, argmem: readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none) {
  %4 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %5 = load ptr, ptr %4, align 8
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw %struct.piece, ptr %6, i64 %7
  %9 = load i32, ptr %8, align 4
  %10 = getelementptr inbounds nuw i8, ptr %8, i64 4
  %11 = load i32, ptr %10, align 4
  %12 = load i32, ptr %1, align 4
  %13 = add i32 %12, -1
  store i32 %13, ptr %1, align 4
  br label %14

14:
  %15 = phi i32 [ %2, %3 ], [ %26, %23 ]
  %16 = icmp ult i32 %15, %13
  br i1 %16, label %23, label %17

17:
  %18 = add i32 %11, %9
  %19 = getelementptr inbounds nuw i8, ptr %0, i64 72
  %20 = getelementptr inbounds nuw i8, ptr %0, i64 80
  %21 = getelementptr inbounds nuw i8, ptr %0, i64 44
  %22 = getelementptr inbounds nuw i8, ptr %0, i64 48
  br label %29

23:
  %24 = zext i32 %15 to i64
  %25 = getelementptr inbounds nuw %struct.piece, ptr %6, i64 %24
  %26 = add nuw i32 %15, 1
  %27 = zext i32 %26 to i64
  %28 = getelementptr inbounds nuw %struct.piece, ptr %6, i64 %27
  tail call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 4 dereferenceable(12) %25, ptr noundef nonnull align 4 dereferenceable(12) %28, i64 12, i1 false)
  br label %14

29:
  %30 = phi i32 [ %76, %86 ], [ %13, %17 ]
  %31 = phi i32 [ %92, %86 ], [ %9, %17 ]
  %32 = phi i32 [ %87, %86 ], [ %2, %17 ]
  %33 = icmp uge i32 %31, %18
  br i1 %33, label %93, label %34

34:
  %35 = zext i32 %31 to i64
  %36 = getelementptr inbounds nuw i32, ptr %5, i64 %35
  %37 = load i32, ptr %36, align 4
  %38 = sub nuw i32 %18, %31
  %39 = tail call fastcc i32 @wl.same_states(ptr nonnull %36, i32 %38)
  %40 = icmp eq i32 %37, -1
  br i1 %40, label %52, label %41

41:
  %42 = load ptr, ptr %4, align 8
  %43 = load ptr, ptr %19, align 8
  %44 = load i32, ptr %20, align 8
  %45 = icmp ult i32 %37, %44
  %46 = select i1 %45, i32 %37, i32 0
  %47 = zext i32 %46 to i64
  %48 = getelementptr inbounds nuw %struct.phase, ptr %43, i64 %47
  %49 = getelementptr inbounds nuw i8, ptr %48, i64 8
  %50 = load ptr, ptr %49, align 8
  %51 = tail call fastcc i32 @wl.alike(ptr %42, ptr %50, i32 %31, i32 %39)
  br label %52

52:
  %53 = phi i32 [ %51, %41 ], [ %39, %34 ]
  %54 = load i32, ptr %21, align 4
  %55 = urem i32 %31, %54
  %56 = udiv i32 %31, %54
  %57 = icmp ne i32 %55, 0
  %58 = icmp ult i32 %53, %54
  %59 = select i1 %57, i1 true, i1 %58
  br i1 %59, label %60, label %63

60:
  %61 = sub i32 %54, %55
  %62 = tail call i32 @llvm.umin.i32(i32 %53, i32 %61)
  br label %72

63:
  %64 = load i32, ptr %22, align 8
  %65 = urem i32 %56, %64
  %66 = sub i32 %64, %65
  %67 = mul i32 %66, %54
  %68 = tail call i32 @llvm.umin.i32(i32 %53, i32 %67)
  %69 = freeze i32 %68
  %70 = urem i32 %69, %54
  %71 = sub nuw i32 %69, %70
  br label %72

72:
  %73 = phi i32 [ %62, %60 ], [ %71, %63 ]
  %74 = icmp eq i32 %30, 16
  br i1 %74, label %93, label %75

75:
  %76 = add i32 %30, 1
  store i32 %76, ptr %1, align 4
  br label %77

77:
  %78 = phi i32 [ %30, %75 ], [ %83, %80 ]
  %79 = icmp ugt i32 %78, %32
  br i1 %79, label %80, label %86

80:
  %81 = zext i32 %78 to i64
  %82 = getelementptr inbounds nuw %struct.piece, ptr %6, i64 %81
  %83 = add i32 %78, -1
  %84 = zext i32 %83 to i64
  %85 = getelementptr inbounds nuw %struct.piece, ptr %6, i64 %84
  tail call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 4 dereferenceable(12) %82, ptr noundef nonnull align 4 dereferenceable(12) %85, i64 12, i1 false)
  br label %77

86:
  %87 = add i32 %32, 1
  %88 = zext i32 %32 to i64
  %89 = getelementptr inbounds nuw %struct.piece, ptr %6, i64 %88
  store i32 %31, ptr %89, align 4
  %90 = getelementptr inbounds nuw i8, ptr %89, i64 4
  store i32 %73, ptr %90, align 4
  %91 = getelementptr inbounds nuw i8, ptr %89, i64 8
  store i32 %37, ptr %91, align 4
  %92 = add i32 %73, %31
  br label %29

93:
  ret i1 %33
}

define internal fastcc noundef zeroext i1 @wl.run_whole_warps(ptr nonnull %0, ptr nonnull captures(none) %1, i32 %2) unnamed_addr minsize noinline nounwind {
  %4 = getelementptr inbounds nuw i8, ptr %1, i64 4
  %5 = zext i32 %2 to i64
  %6 = getelementptr inbounds nuw %struct.piece, ptr %4, i64 %5
  %7 = getelementptr inbounds nuw i8, ptr %6, i64 8
  %8 = load i32, ptr %7, align 4
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 72
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 80
  %12 = load i32, ptr %11, align 8
  %13 = icmp ult i32 %8, %12
  %14 = select i1 %13, i32 %8, i32 0
  %15 = zext i32 %14 to i64
  %16 = getelementptr inbounds nuw %struct.phase, ptr %10, i64 %15
  %17 = load i32, ptr %6, align 4
  %18 = getelementptr inbounds nuw i8, ptr %6, i64 4
  %19 = load i32, ptr %18, align 4
  %20 = add i32 %19, %17
  %21 = getelementptr inbounds nuw i8, ptr %16, i64 52
  %22 = load i32, ptr %21, align 4
  %23 = icmp eq i32 %22, 0
  br i1 %23, label %55, label %24

24:
  %25 = getelementptr inbounds nuw i8, ptr %16, i64 56
  %26 = load i32, ptr %25, align 8
  %27 = add i32 %26, 1
  %28 = icmp ult i32 %27, 2
  %29 = and i32 %17, 31
  %30 = icmp eq i32 %29, 0
  %31 = select i1 %28, i1 %30, i1 false
  br i1 %31, label %32, label %55

32:
  %33 = and i32 %19, 31
  %34 = icmp eq i32 %33, 0
  br i1 %34, label %39, label %35

35:
  %36 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %37 = load i32, ptr %36, align 8
  %38 = icmp eq i32 %20, %37
  br i1 %38, label %39, label %55

39:
  %40 = getelementptr inbounds nuw i8, ptr %16, i64 60
  br label %41

41:
  %42 = phi i32 [ %17, %39 ], [ %54, %49 ]
  %43 = icmp ult i32 %42, %20
  br i1 %43, label %44, label %47

44:
  %45 = load i32, ptr %40, align 4
  %46 = icmp eq i32 %45, 0
  br i1 %46, label %49, label %47

47:
  %48 = tail call fastcc zeroext i1 @wl.run_piece(ptr %0, ptr %1, i32 %2)
  br label %55

49:
  %50 = sub i32 %20, %42
  %51 = tail call i32 @llvm.umin.i32(i32 %50, i32 32)
  %52 = sub nuw nsw i32 32, %51
  %53 = lshr i32 -1, %52
  tail call fastcc void @wl.resolve_warp(ptr %0, ptr nonnull %16, i32 %42, i32 %51, i32 %53)
  %54 = add i32 %42, 32
  br label %41

55:
  %56 = phi i1 [ %48, %47 ], [ false, %24 ], [ false, %35 ], [ false, %3 ]
  ret i1 %56
}

define internal fastcc void @wl.note_states(ptr nonnull readonly captures(none) %0, ptr nonnull readonly captures(none) %1) unnamed_addr minsize nofree noinline norecurse nosync nounwind memory(write, argmem: readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none) {
  %3 = getelementptr inbounds nuw i8, ptr %1, i64 4
  %4 = getelementptr inbounds nuw i8, ptr %0, i64 24
  br label %5

5:
  %6 = phi i32 [ 0, %2 ], [ %20, %19 ]
  %7 = load i32, ptr %1, align 4
  %8 = icmp ult i32 %6, %7
  br i1 %8, label %9, label %14

9:
  %10 = zext i32 %6 to i64
  %11 = getelementptr inbounds nuw %struct.piece, ptr %3, i64 %10
  %12 = getelementptr inbounds nuw i8, ptr %11, i64 4
  %13 = getelementptr inbounds nuw i8, ptr %11, i64 8
  br label %15

14:
  ret void

15:
  %16 = phi i32 [ %28, %21 ], [ 0, %9 ]
  %17 = load i32, ptr %12, align 4
  %18 = icmp ult i32 %16, %17
  br i1 %18, label %21, label %19

19:
  %20 = add nuw i32 %6, 1
  br label %5

21:
  %22 = load i32, ptr %13, align 4
  %23 = load ptr, ptr %4, align 8
  %24 = load i32, ptr %11, align 4
  %25 = add i32 %24, %16
  %26 = zext i32 %25 to i64
  %27 = getelementptr inbounds nuw i32, ptr %23, i64 %26
  store i32 %22, ptr %27, align 4
  %28 = add nuw i32 %16, 1
  br label %15
}

define internal fastcc i32 @wl.alike(ptr readonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, i32 %3) unnamed_addr minsize nofree noinline norecurse nounwind memory(argmem: read) {
  br label %5

5:
  %6 = phi i32 [ %3, %4 ], [ %36, %35 ]
  %7 = phi ptr [ %1, %4 ], [ %37, %35 ]
  %8 = getelementptr inbounds nuw i8, ptr %7, i64 4
  %9 = load i32, ptr %8, align 4
  %10 = icmp ne i32 %9, 0
  %11 = icmp ugt i32 %6, 1
  %12 = select i1 %10, i1 %11, i1 false
  br i1 %12, label %13, label %38

13:
  %14 = load i32, ptr %7, align 4
  %15 = zext i32 %14 to i64
  %16 = getelementptr inbounds nuw i8, ptr %0, i64 %15
  %17 = mul i32 %9, %2
  %18 = zext i32 %17 to i64
  %19 = getelementptr inbounds nuw i8, ptr %16, i64 %18
  %20 = zext i32 %9 to i64
  %21 = getelementptr inbounds nuw i8, ptr %19, i64 %20
  %22 = add i32 %6, -1
  %23 = mul i32 %9, %22
  %24 = zext i32 %23 to i64
  %25 = tail call i32 @bcmp(ptr %19, ptr nonnull %21, i64 %24)
  %26 = icmp eq i32 %25, 0
  br i1 %26, label %35, label %27

27:
  %28 = phi i32 [ %34, %27 ], [ 1, %13 ]
  %29 = mul i32 %28, %9
  %30 = zext i32 %29 to i64
  %31 = getelementptr inbounds nuw i8, ptr %19, i64 %30
  %32 = tail call i32 @bcmp(ptr %19, ptr %31, i64 %20)
  %33 = icmp eq i32 %32, 0
  %34 = add i32 %28, 1
  br i1 %33, label %27, label %35

35:
  %36 = phi i32 [ %6, %13 ], [ %28, %27 ]
  %37 = getelementptr inbounds nuw i8, ptr %7, i64 8
  br label %5

38:
  ret i32 %6
}

define internal fastcc noundef zeroext i1 @wl.run_piece(ptr nonnull %0, ptr nonnull captures(none) %1, i32 %2) unnamed_addr minsize noinline nounwind {
  %4 = getelementptr inbounds nuw i8, ptr %1, i64 4
  %5 = zext i32 %2 to i64
  %6 = getelementptr inbounds nuw %struct.piece, ptr %4, i64 %5
  %7 = getelementptr inbounds nuw i8, ptr %6, i64 8
  %8 = load i32, ptr %7, align 4
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 72
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 80
  %12 = load i32, ptr %11, align 8
  %13 = icmp ult i32 %8, %12
  %14 = select i1 %13, i32 %8, i32 0
  %15 = zext i32 %14 to i64
  %16 = getelementptr inbounds nuw %struct.phase, ptr %10, i64 %15
  %17 = load i32, ptr %6, align 4
  %18 = getelementptr inbounds nuw i8, ptr %6, i64 4
  %19 = load i32, ptr %18, align 4
  %20 = getelementptr inbounds nuw i8, ptr %0, i64 44
  %21 = load i32, ptr %20, align 4
  %22 = urem i32 %17, %21
  %23 = udiv i32 %17, %21
  %24 = getelementptr inbounds nuw i8, ptr %0, i64 48
  %25 = load i32, ptr %24, align 8
  %26 = urem i32 %23, %25
  %27 = udiv i32 %23, %25
  %28 = icmp ugt i32 %19, %21
  br i1 %28, label %29, label %31

29:
  %30 = udiv i32 %19, %21
  br label %31

31:
  %32 = phi i32 [ %30, %29 ], [ 1, %3 ]
  %33 = getelementptr inbounds nuw i8, ptr %16, i64 32
  %34 = load i32, ptr %33, align 8
  %35 = icmp ne i32 %34, 3
  %36 = and i32 %17, 31
  %37 = icmp eq i32 %36, 0
  %38 = select i1 %35, i1 %37, i1 false
  br i1 %38, label %39, label %47

39:
  %40 = and i32 %19, 31
  %41 = icmp eq i32 %40, 0
  br i1 %41, label %47, label %42

42:
  %43 = add i32 %19, %17
  %44 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %45 = load i32, ptr %44, align 8
  %46 = icmp eq i32 %43, %45
  br label %47

47:
  %48 = phi i1 [ %46, %42 ], [ false, %31 ], [ true, %39 ]
  %49 = getelementptr inbounds nuw i8, ptr %0, i64 64
  %50 = load ptr, ptr %49, align 8
  %51 = udiv i32 %19, %32
  %52 = add i32 %51, %22
  %53 = add i32 %32, %26
  %54 = add i32 %27, 1
  %55 = tail call i32 %50(ptr nonnull %0, i32 %22, i32 %52, i32 %26, i32 %53, i32 %27, i32 %54, i1 zeroext %48, i32 %8) nounwind
  %56 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %57 = load ptr, ptr %56, align 8
  %58 = getelementptr inbounds nuw i8, ptr %16, i64 16
  %59 = load ptr, ptr %58, align 8
  tail call fastcc void @wl.spread(ptr %57, ptr %59, i32 %17, i32 %19)
  store i32 %55, ptr %7, align 4
  %60 = icmp eq i32 %55, 0
  br i1 %60, label %61, label %63

61:
  %62 = tail call fastcc zeroext i1 @wl.cut(ptr %0, ptr %1, i32 %2)
  br label %63

63:
  %64 = phi i1 [ true, %47 ], [ %62, %61 ]
  ret i1 %64
}

declare i32 @sched_yield()

define internal fastcc void @wl.resolve_warp(ptr nonnull readonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, i32 %3, i32 %4) unnamed_addr minsize noinline nounwind {
  %6 = load ptr, ptr %1, align 8
  %7 = icmp eq ptr %6, null
  br i1 %7, label %34, label %8

8:
  %9 = getelementptr inbounds nuw i8, ptr %1, i64 48
  %10 = load i32, ptr %9, align 8
  %11 = icmp eq i32 %10, 0
  %12 = getelementptr inbounds nuw i8, ptr %0, i64 24
  br i1 %11, label %13, label %15

13:
  %14 = load ptr, ptr %12, align 8
  tail call void %6(ptr %14, i32 %2, i32 %3, i32 %4) nounwind
  br label %34

15:
  %16 = phi i32 [ %33, %18 ], [ %4, %8 ]
  %17 = icmp eq i32 %16, 0
  br i1 %17, label %34, label %18

18:
  %19 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %16, i1 true)
  %20 = load ptr, ptr %12, align 8
  %21 = getelementptr inbounds nuw i8, ptr %20, i64 147456
  %22 = add i32 %19, %2
  %23 = zext i32 %22 to i64
  %24 = getelementptr inbounds nuw i32, ptr %21, i64 %23
  %25 = load i32, ptr %24, align 4
  %26 = icmp eq i32 %25, 0
  %27 = and i32 %25, %16
  %28 = shl nuw i32 1, %19
  %29 = or i32 %27, %28
  %30 = select i1 %26, i32 %16, i32 %29
  %31 = load ptr, ptr %1, align 8
  tail call void %31(ptr %20, i32 %2, i32 %3, i32 %30) nounwind
  %32 = xor i32 %30, -1
  %33 = and i32 %16, %32
  br label %15

34:
  ret void
}

define internal fastcc noundef zeroext i1 @wl.run_round(ptr nonnull %0) unnamed_addr minsize noinline nounwind {
  %2 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %4 = getelementptr inbounds nuw i8, ptr %0, i64 72
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 80
  br label %6

6:
  %7 = phi i32 [ 0, %1 ], [ %33, %32 ]
  %8 = phi i32 [ 0, %1 ], [ %28, %32 ]
  %9 = load i32, ptr %2, align 8
  %10 = icmp ult i32 %7, %9
  br i1 %10, label %14, label %11

11:
  %12 = and i32 %8, 4
  %13 = icmp ne i32 %12, 0
  br i1 %13, label %34, label %37

14:
  %15 = load ptr, ptr %3, align 8
  %16 = zext i32 %7 to i64
  %17 = getelementptr inbounds nuw i32, ptr %15, i64 %16
  %18 = load i32, ptr %17, align 4
  %19 = load ptr, ptr %4, align 8
  %20 = load i32, ptr %5, align 8
  %21 = icmp ult i32 %18, %20
  %22 = select i1 %21, i32 %18, i32 0
  %23 = zext i32 %22 to i64
  %24 = getelementptr inbounds nuw %struct.phase, ptr %19, i64 %23
  %25 = getelementptr inbounds nuw i8, ptr %24, i64 32
  %26 = load i32, ptr %25, align 8
  %27 = shl nuw i32 1, %26
  %28 = or i32 %27, %8
  %29 = icmp sgt i32 %26, 2
  br i1 %29, label %30, label %32

30:
  %31 = or i32 %18, 1073741824
  store i32 %31, ptr %17, align 4
  br label %32

32:
  %33 = add nuw i32 %7, 1
  br label %6

34:
  %35 = tail call fastcc zeroext i1 @wl.run_warps(ptr %0, i1 zeroext false)
  %36 = zext i1 %35 to i32
  br label %37

37:
  %38 = phi i32 [ 0, %11 ], [ %36, %34 ]
  %39 = tail call fastcc zeroext i1 @wl.release_barrier(ptr %0)
  %40 = zext i1 %39 to i32
  %41 = or i32 %38, %40
  %42 = icmp eq i32 %41, 0
  %43 = trunc nuw i32 %41 to i1
  %44 = and i1 %13, %42
  br i1 %44, label %45, label %47

45:
  %46 = tail call fastcc zeroext i1 @wl.run_warps(ptr %0, i1 zeroext true)
  br label %47

47:
  %48 = phi i1 [ %46, %45 ], [ %43, %37 ]
  %49 = and i32 %8, 24
  %50 = icmp ne i32 %49, 0
  %51 = select i1 %48, i1 true, i1 %50
  br i1 %51, label %52, label %59

52:
  %53 = icmp ne i32 %49, 8
  %54 = select i1 %48, i1 true, i1 %53
  br i1 %54, label %57, label %55

55:
  %56 = tail call i32 @sched_yield() nounwind
  br label %57

57:
  %58 = load i32, ptr %2, align 8
  tail call fastcc void @wl.advance(ptr %0, i32 0, i32 %58)
  br label %59

59:
  ret i1 %51
}

define internal fastcc void @wl.report_deadlock(ptr nonnull readonly captures(none) %0) unnamed_addr minsize noinline nounwind {
  %2 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %3 = load ptr, ptr %2, align 8
  br label %4

4:
  %5 = phi i32 [ 0, %1 ], [ %10, %4 ]
  %6 = zext i32 %5 to i64
  %7 = getelementptr inbounds nuw i32, ptr %3, i64 %6
  %8 = load i32, ptr %7, align 4
  %9 = icmp eq i32 %8, -1
  %10 = add i32 %5, 1
  br i1 %9, label %4, label %11

11:
  %12 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %13 = load ptr, ptr %12, align 8
  %14 = getelementptr inbounds nuw i8, ptr %0, i64 72
  %15 = load ptr, ptr %14, align 8
  %16 = getelementptr inbounds nuw i8, ptr %0, i64 80
  %17 = load i32, ptr %16, align 8
  %18 = icmp ult i32 %8, %17
  %19 = select i1 %18, i32 %8, i32 0
  %20 = zext i32 %19 to i64
  %21 = getelementptr inbounds nuw %struct.phase, ptr %15, i64 %20
  %22 = getelementptr inbounds nuw i8, ptr %21, i64 36
  %23 = load i32, ptr %22, align 4
  %24 = sext i32 %23 to i64
  tail call void @wl.fault(ptr %13, i64 5, i64 %24, i32 %5, i64 0) nounwind
  ret void
}

define internal fastcc i32 @wl.run_all(ptr nonnull %0, i32 range(i32 1, -1) %1) unnamed_addr minsize noinline nounwind {
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 72
  %4 = load ptr, ptr %3, align 8
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 80
  %6 = load i32, ptr %5, align 8
  %7 = icmp ult i32 %1, %6
  %8 = select i1 %7, i32 %1, i32 0
  %9 = zext i32 %8 to i64
  %10 = getelementptr inbounds nuw %struct.phase, ptr %4, i64 %9
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %12 = load ptr, ptr %11, align 8
  %13 = getelementptr inbounds nuw i8, ptr %10, i64 8
  %14 = load ptr, ptr %13, align 8
  %15 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %16 = load i32, ptr %15, align 8
  %17 = tail call fastcc i32 @wl.alike(ptr %12, ptr %14, i32 0, i32 %16)
  %18 = icmp ult i32 %17, %16
  br i1 %18, label %19, label %20

19:
  tail call fastcc void @wl.scatter(ptr %0, i32 %1)
  br label %34

20:
  %21 = getelementptr inbounds nuw i8, ptr %0, i64 64
  %22 = load ptr, ptr %21, align 8
  %23 = getelementptr inbounds nuw i8, ptr %0, i64 44
  %24 = load i32, ptr %23, align 4
  %25 = getelementptr inbounds nuw i8, ptr %0, i64 48
  %26 = load i32, ptr %25, align 8
  %27 = getelementptr inbounds nuw i8, ptr %0, i64 52
  %28 = load i32, ptr %27, align 4
  %29 = tail call i32 %22(ptr nonnull %0, i32 0, i32 %24, i32 0, i32 %26, i32 0, i32 %28, i1 zeroext false, i32 %1) nounwind
  %30 = load ptr, ptr %11, align 8
  %31 = getelementptr inbounds nuw i8, ptr %10, i64 16
  %32 = load ptr, ptr %31, align 8
  %33 = load i32, ptr %15, align 8
  tail call fastcc void @wl.spread(ptr %30, ptr %32, i32 0, i32 %33)
  br label %34

34:
  %35 = phi i32 [ 0, %19 ], [ %29, %20 ]
  ret i32 %35
}

define internal fastcc zeroext i1 @wl.run_warps(ptr nonnull %0, i1 zeroext %1) unnamed_addr minsize noinline nounwind {
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %4 = select i1 %1, i32 1, i32 64
  br label %5

5:
  %6 = phi i32 [ 0, %2 ], [ %22, %21 ]
  %7 = phi i1 [ false, %2 ], [ %16, %21 ]
  %8 = load i32, ptr %3, align 8
  %9 = icmp ult i32 %6, %8
  br i1 %9, label %11, label %10

10:
  ret i1 %7

11:
  %12 = sub nuw i32 %8, %6
  %13 = tail call i32 @llvm.umin.i32(i32 %12, i32 32)
  %14 = add i32 %13, %6
  br label %15

15:
  %16 = phi i1 [ %7, %11 ], [ true, %23 ]
  %17 = phi i32 [ 0, %11 ], [ %24, %23 ]
  %18 = icmp eq i32 %17, %4
  br i1 %18, label %21, label %19

19:
  %20 = tail call fastcc zeroext i1 @wl.release_groups(ptr %0, i32 %6, i32 %13, i1 zeroext %1)
  br i1 %20, label %23, label %21

21:
  %22 = add i32 %6, 32
  br label %5

23:
  tail call fastcc void @wl.advance(ptr %0, i32 %6, i32 %14)
  %24 = add nuw nsw i32 %17, 1
  br label %15
}

define internal fastcc noundef zeroext i1 @wl.release_barrier(ptr nonnull readonly captures(none) %0) unnamed_addr minsize noinline nounwind {
  %2 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %3 = load ptr, ptr %2, align 8
  %4 = getelementptr inbounds nuw i8, ptr %0, i64 84
  %5 = load i32, ptr %4, align 4
  %6 = getelementptr inbounds nuw i8, ptr %0, i64 88
  %7 = load i32, ptr %6, align 8
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 72
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 80
  %11 = getelementptr inbounds nuw i8, ptr %3, i64 143360
  %12 = getelementptr inbounds nuw i8, ptr %3, i64 147456
  %13 = getelementptr inbounds nuw i8, ptr %3, i64 217088
  br label %14

14:
  %15 = phi i32 [ %5, %1 ], [ %122, %121 ]
  %16 = icmp ult i32 %15, %7
  br i1 %16, label %17, label %123

17:
  %18 = load i32, ptr %8, align 8
  br label %19

19:
  %20 = phi i32 [ %60, %57 ], [ 0, %17 ]
  %21 = phi i32 [ %63, %57 ], [ 0, %17 ]
  %22 = phi i32 [ %44, %57 ], [ 0, %17 ]
  %23 = phi i32 [ %62, %57 ], [ 0, %17 ]
  %24 = icmp eq i32 %21, %18
  br i1 %24, label %25, label %38

25:
  %26 = zext i32 %20 to i64
  %27 = getelementptr inbounds nuw i32, ptr %3, i64 %26
  %28 = load i32, ptr %27, align 4
  %29 = load ptr, ptr %9, align 8
  %30 = load i32, ptr %10, align 8
  %31 = icmp ult i32 %28, %30
  %32 = select i1 %31, i32 %28, i32 0
  %33 = zext i32 %32 to i64
  %34 = getelementptr inbounds nuw %struct.phase, ptr %29, i64 %33
  %35 = getelementptr inbounds nuw i8, ptr %34, i64 44
  %36 = load i32, ptr %35, align 4
  %37 = icmp slt i32 %36, 0
  br i1 %37, label %64, label %67

38:
  %39 = zext i32 %21 to i64
  %40 = getelementptr inbounds nuw i32, ptr %3, i64 %39
  %41 = load i32, ptr %40, align 4
  %42 = icmp ne i32 %41, -1
  %43 = zext i1 %42 to i32
  %44 = add i32 %22, %43
  %45 = load ptr, ptr %9, align 8
  %46 = load i32, ptr %10, align 8
  %47 = icmp ult i32 %41, %46
  %48 = select i1 %47, i32 %41, i32 0
  %49 = zext i32 %48 to i64
  %50 = getelementptr inbounds nuw %struct.phase, ptr %45, i64 %49
  %51 = getelementptr inbounds nuw i8, ptr %50, i64 40
  %52 = load i32, ptr %51, align 8
  %53 = icmp sgt i32 %52, -1
  br i1 %53, label %57, label %54

54:
  %55 = getelementptr inbounds nuw i32, ptr %11, i64 %39
  %56 = load i32, ptr %55, align 4
  br label %57

57:
  %58 = phi i32 [ %56, %54 ], [ %52, %38 ]
  %59 = icmp eq i32 %58, %15
  %60 = select i1 %59, i32 %21, i32 %20
  %61 = zext i1 %59 to i32
  %62 = add i32 %23, %61
  %63 = add i32 %21, 1
  br label %19

64:
  %65 = getelementptr inbounds nuw i32, ptr %12, i64 %26
  %66 = load i32, ptr %65, align 4
  br label %67

67:
  %68 = phi i32 [ %66, %64 ], [ %36, %25 ]
  %69 = zext i32 %15 to i64
  %70 = getelementptr inbounds nuw i32, ptr %13, i64 %69
  %71 = load i32, ptr %70, align 4
  %72 = add i32 %71, %23
  %73 = icmp eq i32 %68, 0
  %74 = select i1 %73, i32 %22, i32 %68
  %75 = icmp eq i32 %23, 0
  %76 = icmp ugt i32 %74, %72
  %77 = select i1 %75, i1 true, i1 %76
  br i1 %77, label %121, label %78

78:
  %79 = sub nuw i32 %72, %74
  %80 = icmp ult i32 %79, %71
  br i1 %80, label %81, label %83

81:
  %82 = getelementptr inbounds nuw i32, ptr %13, i64 %69
  store i32 %79, ptr %82, align 4
  br label %83

83:
  br label %84

84:
  %85 = phi i32 [ %120, %119 ], [ 0, %83 ]
  %86 = load i32, ptr %8, align 8
  %87 = icmp ult i32 %85, %86
  br i1 %87, label %94, label %88

88:
  %89 = load ptr, ptr %34, align 8
  %90 = icmp eq ptr %89, null
  br i1 %90, label %123, label %91

91:
  %92 = or i32 %28, 1073741824
  %93 = load ptr, ptr %2, align 8
  tail call void %89(ptr %93, i32 0, i32 %86, i32 %92) nounwind
  br label %123

94:
  %95 = load ptr, ptr %2, align 8
  %96 = zext i32 %85 to i64
  %97 = getelementptr inbounds nuw i32, ptr %95, i64 %96
  %98 = load i32, ptr %97, align 4
  %99 = load ptr, ptr %9, align 8
  %100 = load i32, ptr %10, align 8
  %101 = icmp ult i32 %98, %100
  %102 = select i1 %101, i32 %98, i32 0
  %103 = zext i32 %102 to i64
  %104 = getelementptr inbounds nuw %struct.phase, ptr %99, i64 %103
  %105 = getelementptr inbounds nuw i8, ptr %104, i64 40
  %106 = load i32, ptr %105, align 8
  %107 = icmp sgt i32 %106, -1
  br i1 %107, label %112, label %108

108:
  %109 = getelementptr inbounds nuw i8, ptr %95, i64 143360
  %110 = getelementptr inbounds nuw i32, ptr %109, i64 %96
  %111 = load i32, ptr %110, align 4
  br label %112

112:
  %113 = phi i32 [ %111, %108 ], [ %106, %94 ]
  %114 = icmp eq i32 %113, %15
  br i1 %114, label %115, label %119

115:
  %116 = getelementptr inbounds nuw i32, ptr %3, i64 %96
  %117 = load i32, ptr %116, align 4
  %118 = or i32 %117, 1073741824
  store i32 %118, ptr %116, align 4
  br label %119

119:
  %120 = add nuw i32 %85, 1
  br label %84

121:
  %122 = add i32 %15, 1
  br label %14

123:
  ret i1 %16
}

define internal fastcc void @wl.advance(ptr nonnull %0, i32 %1, i32 %2) unnamed_addr minsize noinline nounwind {
  %4 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %5 = load ptr, ptr %4, align 8
  %6 = getelementptr inbounds nuw i8, ptr %0, i64 44
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 48
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 72
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 80
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 64
  br label %11

11:
  %12 = phi i32 [ %1, %3 ], [ %76, %74 ]
  %13 = icmp ult i32 %12, %2
  br i1 %13, label %15, label %14

14:
  ret void

15:
  %16 = zext i32 %12 to i64
  %17 = getelementptr inbounds nuw i32, ptr %5, i64 %16
  %18 = load i32, ptr %17, align 4
  %19 = and i32 %18, 1073741823
  %20 = and i32 %18, -1073741824
  %21 = icmp eq i32 %20, 1073741824
  br i1 %21, label %22, label %74

22:
  %23 = load i32, ptr %6, align 4
  %24 = urem i32 %12, %23
  %25 = udiv i32 %12, %23
  %26 = load i32, ptr %7, align 8
  %27 = urem i32 %25, %26
  %28 = udiv i32 %25, %26
  %29 = sub i32 %2, %12
  br label %30

30:
  %31 = phi i32 [ 1, %22 ], [ %43, %42 ]
  %32 = add i32 %31, %24
  %33 = icmp ult i32 %32, %23
  br i1 %33, label %34, label %44

34:
  %35 = add i32 %31, %12
  %36 = icmp ult i32 %35, %2
  br i1 %36, label %37, label %44

37:
  %38 = zext i32 %35 to i64
  %39 = getelementptr inbounds nuw i32, ptr %5, i64 %38
  %40 = load i32, ptr %39, align 4
  %41 = icmp eq i32 %40, %18
  br i1 %41, label %42, label %44

42:
  %43 = add i32 %31, 1
  br label %30

44:
  %45 = phi i32 [ %29, %34 ], [ %31, %30 ], [ %31, %37 ]
  %46 = load ptr, ptr %8, align 8
  %47 = load i32, ptr %9, align 8
  %48 = icmp ult i32 %19, %47
  %49 = select i1 %48, i32 %19, i32 0
  %50 = zext nneg i32 %49 to i64
  %51 = getelementptr inbounds nuw %struct.phase, ptr %46, i64 %50
  %52 = load ptr, ptr %4, align 8
  %53 = getelementptr inbounds nuw i8, ptr %51, i64 8
  %54 = load ptr, ptr %53, align 8
  %55 = tail call fastcc i32 @wl.alike(ptr %52, ptr %54, i32 %12, i32 %45)
  %56 = load ptr, ptr %10, align 8
  %57 = add i32 %55, %24
  %58 = add i32 %27, 1
  %59 = add i32 %28, 1
  %60 = tail call i32 %56(ptr nonnull %0, i32 %24, i32 %57, i32 %27, i32 %58, i32 %28, i32 %59, i1 zeroext false, i32 %19) nounwind
  %61 = freeze i32 %60
  %62 = load ptr, ptr %4, align 8
  %63 = getelementptr inbounds nuw i8, ptr %51, i64 16
  %64 = load ptr, ptr %63, align 8
  tail call fastcc void @wl.spread(ptr %62, ptr %64, i32 %12, i32 %55)
  %65 = icmp eq i32 %61, 0
  br i1 %65, label %74, label %66

66:
  %67 = phi i32 [ %73, %69 ], [ 0, %44 ]
  %68 = icmp eq i32 %67, %55
  br i1 %68, label %74, label %69

69:
  %70 = add i32 %67, %12
  %71 = zext i32 %70 to i64
  %72 = getelementptr inbounds nuw i32, ptr %5, i64 %71
  store i32 %61, ptr %72, align 4
  %73 = add i32 %67, 1
  br label %66

74:
  %75 = phi i32 [ 1, %15 ], [ %55, %44 ], [ %55, %66 ]
  %76 = add i32 %75, %12
  br label %11
}

define internal fastcc zeroext i1 @wl.release_groups(ptr nonnull readonly captures(none) %0, i32 %1, i32 %2, i1 zeroext %3) unnamed_addr minsize noinline nounwind {
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %6 = load ptr, ptr %5, align 8
  %7 = zext i32 %1 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 72
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 80
  br label %11

11:
  %12 = phi i32 [ 0, %4 ], [ %94, %91 ]
  %13 = phi i1 [ false, %4 ], [ %92, %91 ]
  %14 = phi i32 [ 0, %4 ], [ %93, %91 ]
  %15 = icmp eq i32 %12, %2
  br i1 %15, label %16, label %17

16:
  ret i1 %13

17:
  %18 = zext i32 %12 to i64
  %19 = getelementptr inbounds nuw i32, ptr %8, i64 %18
  %20 = load i32, ptr %19, align 4
  %21 = load ptr, ptr %9, align 8
  %22 = load i32, ptr %10, align 8
  %23 = icmp ult i32 %20, %22
  %24 = select i1 %23, i32 %20, i32 0
  %25 = zext i32 %24 to i64
  %26 = getelementptr inbounds nuw %struct.phase, ptr %21, i64 %25
  %27 = shl nuw i32 1, %12
  %28 = and i32 %14, %27
  %29 = icmp eq i32 %28, 0
  br i1 %29, label %30, label %91

30:
  %31 = getelementptr inbounds nuw i8, ptr %26, i64 32
  %32 = load i32, ptr %31, align 8
  %33 = icmp eq i32 %32, 2
  br i1 %33, label %34, label %91

34:
  %35 = phi i32 [ %69, %62 ], [ 0, %30 ]
  %36 = phi i32 [ %73, %62 ], [ 0, %30 ]
  %37 = phi i32 [ %74, %62 ], [ 0, %30 ]
  %38 = icmp eq i32 %37, %2
  br i1 %38, label %39, label %62

39:
  %40 = getelementptr inbounds nuw i8, ptr %26, i64 52
  %41 = load i32, ptr %40, align 4
  %42 = icmp eq i32 %41, 0
  br i1 %42, label %45, label %43

43:
  %44 = getelementptr inbounds nuw i8, ptr %26, i64 56
  br label %51

45:
  %46 = add i32 %12, %1
  %47 = load ptr, ptr %5, align 8
  %48 = getelementptr inbounds nuw i8, ptr %47, i64 147456
  %49 = zext i32 %46 to i64
  %50 = getelementptr inbounds nuw i32, ptr %48, i64 %49
  br label %51

51:
  %52 = phi ptr [ %44, %43 ], [ %50, %45 ]
  %53 = load i32, ptr %52, align 4
  %54 = icmp eq i32 %53, 0
  %55 = select i1 %54, i32 -1, i32 %53
  %56 = xor i32 %35, -1
  %57 = and i32 %36, %56
  %58 = and i32 %57, %55
  %59 = icmp eq i32 %58, 0
  %60 = select i1 %54, i1 %3, i1 false
  %61 = select i1 %59, i1 true, i1 %60
  br i1 %61, label %75, label %87

62:
  %63 = zext i32 %37 to i64
  %64 = getelementptr inbounds nuw i32, ptr %8, i64 %63
  %65 = load i32, ptr %64, align 4
  %66 = icmp eq i32 %65, %20
  %67 = zext i1 %66 to i32
  %68 = shl nuw i32 %67, %37
  %69 = or i32 %68, %35
  %70 = icmp ne i32 %65, -1
  %71 = zext i1 %70 to i32
  %72 = shl nuw i32 %71, %37
  %73 = or i32 %72, %36
  %74 = add i32 %37, 1
  br label %34

75:
  %76 = and i32 %55, %35
  tail call fastcc void @wl.resolve_warp(ptr %0, ptr nonnull %26, i32 %1, i32 %2, i32 %76)
  %77 = or i32 %20, 1073741824
  br label %78

78:
  %79 = phi i32 [ %76, %75 ], [ %86, %81 ]
  %80 = icmp eq i32 %79, 0
  br i1 %80, label %87, label %81

81:
  %82 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %79, i1 true)
  %83 = zext nneg i32 %82 to i64
  %84 = getelementptr inbounds nuw i32, ptr %8, i64 %83
  store i32 %77, ptr %84, align 4
  %85 = add i32 %79, -1
  %86 = and i32 %85, %79
  br label %78

87:
  %88 = phi i1 [ %13, %51 ], [ true, %78 ]
  %89 = phi i32 [ %35, %51 ], [ %76, %78 ]
  %90 = or i32 %89, %14
  br label %91

91:
  %92 = phi i1 [ %88, %87 ], [ %13, %30 ], [ %13, %17 ]
  %93 = phi i32 [ %90, %87 ], [ %14, %30 ], [ %14, %17 ]
  %94 = add i32 %12, 1
  br label %11
}

define internal fastcc void @wl.scatter(ptr nonnull %0, i32 range(i32 1, -1) %1) unnamed_addr minsize noinline nounwind {
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %4 = or i32 %1, 1073741824
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 24
  br label %6

6:
  %7 = phi i32 [ 0, %2 ], [ %15, %11 ]
  %8 = load i32, ptr %3, align 8
  %9 = icmp ult i32 %7, %8
  br i1 %9, label %11, label %10

10:
  tail call fastcc void @wl.advance(ptr %0, i32 0, i32 %8)
  ret void

11:
  %12 = load ptr, ptr %5, align 8
  %13 = zext i32 %7 to i64
  %14 = getelementptr inbounds nuw i32, ptr %12, i64 %13
  store i32 %4, ptr %14, align 4
  %15 = add nuw i32 %7, 1
  br label %6
}

declare i32 @bcmp(ptr captures(none), ptr captures(none), i64) nocallback nofree nounwind willreturn memory(argmem: read)

%struct.seat = type { ptr, i64, %union.sem_t, [2 x i64] }

%union.sem_t = type { i64, [24 x i8] }

%struct.node = type { i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, ptr, i64, [2 x i64] }

define internal i64 @wl.run_section(ptr initializes((56, 80)) %0, ptr %1, ptr %2, ptr writeonly captures(none) %3) nounwind {
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 56
  store ptr %1, ptr %5, align 8
  %6 = getelementptr inbounds nuw i8, ptr %0, i64 64
  store ptr %2, ptr %6, align 8
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 72
  store ptr null, ptr %7, align 8
  %8 = getelementptr inbounds nuw i8, ptr %2, i64 24
  %9 = load i64, ptr %8, align 8
  %10 = getelementptr inbounds nuw i8, ptr %2, i64 40
  store i64 %9, ptr %10, align 8
  %11 = getelementptr inbounds nuw i8, ptr %2, i64 48
  %12 = load i64, ptr %11, align 8
  %13 = add nsw i64 %12, 1
  store i64 %13, ptr %11, align 8
  %14 = getelementptr inbounds nuw i8, ptr %2, i64 32
  %15 = load i64, ptr %14, align 8
  %16 = icmp eq i64 %15, 0
  br i1 %16, label %65, label %17

17:
  %18 = atomicrmw xchg ptr %0, i64 1 acquire, align 8
  %19 = icmp eq i64 %18, 0
  br i1 %19, label %30, label %23

20:
  %21 = atomicrmw xchg ptr %0, i64 1 acquire, align 8
  %22 = icmp eq i64 %21, 0
  br i1 %22, label %30, label %23

23:
  %24 = load atomic i64, ptr %0 monotonic, align 8
  %25 = icmp eq i64 %24, 0
  br i1 %25, label %20, label %26

26:
  %27 = tail call i32 @sched_yield() nounwind
  %28 = load atomic i64, ptr %0 monotonic, align 8
  %29 = icmp eq i64 %28, 0
  br i1 %29, label %20, label %26

30:
  %31 = load i64, ptr %14, align 8
  %32 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %33 = load i64, ptr %32, align 8
  %34 = sub nsw i64 %31, %33
  %35 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %36 = load i64, ptr %35, align 8
  %37 = icmp sgt i64 %36, 0
  %38 = icmp sgt i64 %34, 0
  %39 = select i1 %37, i1 %38, i1 false
  br i1 %39, label %40, label %64

40:
  %41 = getelementptr inbounds nuw i8, ptr %0, i64 128
  br label %42

42:
  %43 = phi i64 [ %36, %40 ], [ %58, %57 ]
  %44 = phi i64 [ 0, %40 ], [ %60, %57 ]
  %45 = phi i64 [ %34, %40 ], [ %59, %57 ]
  %46 = getelementptr inbounds nuw %struct.seat, ptr %41, i64 %44
  %47 = getelementptr inbounds nuw i8, ptr %46, i64 8
  %48 = load i64, ptr %47, align 8
  %49 = icmp eq i64 %48, 0
  br i1 %49, label %57, label %50

50:
  %51 = load i64, ptr %32, align 8
  %52 = add nsw i64 %51, 1
  store i64 %52, ptr %32, align 8
  store i64 0, ptr %47, align 8
  %53 = getelementptr inbounds nuw i8, ptr %46, i64 16
  %54 = tail call i32 @sem_post(ptr nonnull %53) nounwind
  %55 = add nsw i64 %45, -1
  %56 = load i64, ptr %35, align 8
  br label %57

57:
  %58 = phi i64 [ %56, %50 ], [ %43, %42 ]
  %59 = phi i64 [ %55, %50 ], [ %45, %42 ]
  %60 = add nuw nsw i64 %44, 1
  %61 = icmp slt i64 %60, %58
  %62 = icmp sgt i64 %59, 0
  %63 = select i1 %61, i1 %62, i1 false
  br i1 %63, label %42, label %64

64:
  store atomic i64 0, ptr %0 release, align 8
  br label %65

65:
  %66 = getelementptr inbounds nuw i8, ptr %0, i64 128
  %67 = load ptr, ptr %66, align 8
  %68 = getelementptr inbounds nuw i8, ptr %2, i64 16
  %69 = load i64, ptr %68, align 8
  %70 = load ptr, ptr %6, align 8
  %71 = icmp sgt i64 %69, 0
  br i1 %71, label %72, label %112

72:
  %73 = getelementptr inbounds nuw i8, ptr %70, i64 8
  br label %74

74:
  %75 = phi ptr [ null, %72 ], [ %109, %108 ]
  %76 = phi i64 [ 0, %72 ], [ %110, %108 ]
  %77 = load ptr, ptr %70, align 8
  %78 = load ptr, ptr %73, align 8
  %79 = getelementptr inbounds nuw i64, ptr %78, i64 %76
  %80 = load i64, ptr %79, align 8
  %81 = getelementptr inbounds %struct.node, ptr %77, i64 %80
  %82 = getelementptr inbounds nuw i8, ptr %81, i64 8
  %83 = load i64, ptr %82, align 8
  %84 = getelementptr inbounds nuw i8, ptr %81, i64 64
  store i64 %83, ptr %84, align 8
  %85 = getelementptr inbounds nuw i8, ptr %81, i64 88
  store i64 0, ptr %85, align 8
  %86 = load i64, ptr %81, align 8
  %87 = icmp eq i64 %86, 1
  br i1 %87, label %88, label %101

88:
  %89 = load ptr, ptr %5, align 8
  %90 = load ptr, ptr %6, align 8
  %91 = load ptr, ptr %90, align 8
  %92 = ptrtoint ptr %81 to i64
  %93 = ptrtoint ptr %91 to i64
  %94 = sub i64 %92, %93
  %95 = ashr exact i64 %94, 7
  %96 = getelementptr inbounds %struct.instruction, ptr %89, i64 %95
  %97 = getelementptr inbounds nuw i8, ptr %96, i64 16
  %98 = load i64, ptr %97, align 8
  %99 = inttoptr i64 %98 to ptr
  %100 = getelementptr inbounds nuw i8, ptr %99, i64 96
  store i64 0, ptr %100, align 8
  br label %101

101:
  %102 = icmp eq ptr %75, null
  br i1 %102, label %103, label %107

103:
  %104 = getelementptr inbounds nuw i8, ptr %81, i64 40
  %105 = load i64, ptr %104, align 8
  %106 = icmp eq i64 %105, 1
  br i1 %106, label %108, label %107

107:
  tail call fastcc void @wl.enqueue(ptr %0, ptr nonnull %81)
  br label %108

108:
  %109 = phi ptr [ %81, %103 ], [ %75, %107 ]
  %110 = add nuw nsw i64 %76, 1
  %111 = icmp eq i64 %110, %69
  br i1 %111, label %112, label %74

112:
  %113 = phi ptr [ null, %65 ], [ %109, %108 ]
  tail call fastcc void @wl.work(ptr %0, ptr %67, ptr %113)
  tail call fastcc void @wl.run_queued(ptr %0, ptr nonnull %66)
  %114 = load ptr, ptr %7, align 8
  store ptr %114, ptr %3, align 8
  %115 = icmp eq ptr %114, null
  br i1 %115, label %119, label %116

116:
  %117 = getelementptr inbounds nuw i8, ptr %0, i64 80
  %118 = load i64, ptr %117, align 8
  br label %119

119:
  %120 = phi i64 [ %118, %116 ], [ -1, %112 ]
  ret i64 %120
}

define internal fastcc void @wl.work(ptr %0, ptr %1, ptr %2) unnamed_addr nounwind {
  %4 = getelementptr inbounds nuw i8, ptr %0, i64 64
  %5 = load ptr, ptr %4, align 8
  %6 = tail call i64 @wl.monotonic() nounwind
  %7 = icmp eq ptr %2, null
  br i1 %7, label %209, label %8

8:
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 72
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %11 = getelementptr inbounds nuw i8, ptr %1, i64 16
  %12 = getelementptr inbounds nuw i8, ptr %1, i64 80
  %13 = getelementptr inbounds nuw i8, ptr %1, i64 88
  %14 = getelementptr inbounds nuw i8, ptr %1, i64 64
  %15 = getelementptr inbounds nuw i8, ptr %1, i64 112
  %16 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %17 = getelementptr inbounds nuw i8, ptr %0, i64 48
  %18 = getelementptr inbounds nuw i8, ptr %1, i64 120
  %19 = getelementptr inbounds nuw i8, ptr %5, i64 40
  %20 = getelementptr inbounds nuw i8, ptr %0, i64 136
  %21 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %22 = getelementptr inbounds nuw i8, ptr %0, i64 144
  br label %23

23:
  %24 = phi ptr [ %2, %8 ], [ %182, %207 ]
  %25 = phi i64 [ %6, %8 ], [ %76, %207 ]
  %26 = load ptr, ptr %5, align 8
  %27 = ptrtoint ptr %24 to i64
  %28 = ptrtoint ptr %26 to i64
  %29 = sub i64 %27, %28
  %30 = ashr exact i64 %29, 7
  %31 = load atomic i64, ptr %9 monotonic, align 8
  %32 = icmp eq i64 %31, 0
  br i1 %32, label %33, label %75

33:
  %34 = load ptr, ptr %10, align 8
  %35 = load i64, ptr %24, align 8
  %36 = getelementptr inbounds %struct.instruction, ptr %34, i64 %30
  switch i64 %35, label %55 [
    i64 2, label %37
    i64 3, label %46
  ]

37:
  %38 = getelementptr inbounds nuw i8, ptr %36, i64 8
  %39 = load i64, ptr %38, align 8
  %40 = inttoptr i64 %39 to ptr
  %41 = getelementptr inbounds nuw i8, ptr %36, i64 16
  %42 = load i64, ptr %41, align 8
  %43 = trunc i64 %42 to i8
  %44 = getelementptr inbounds nuw i8, ptr %36, i64 24
  %45 = load i64, ptr %44, align 8
  tail call void @llvm.memset.p0.i64(ptr align 1 %40, i8 %43, i64 %45, i1 false)
  br label %75

46:
  %47 = getelementptr inbounds nuw i8, ptr %36, i64 8
  %48 = load i64, ptr %47, align 8
  %49 = inttoptr i64 %48 to ptr
  %50 = getelementptr inbounds nuw i8, ptr %36, i64 16
  %51 = load i64, ptr %50, align 8
  %52 = inttoptr i64 %51 to ptr
  %53 = getelementptr inbounds nuw i8, ptr %36, i64 24
  %54 = load i64, ptr %53, align 8
  tail call void @llvm.memmove.p0.p0.i64(ptr align 1 %49, ptr align 1 %52, i64 %54, i1 false)
  br label %75

55:
  %56 = getelementptr inbounds nuw i8, ptr %24, i64 48
  %57 = load i64, ptr %56, align 8
  store i64 0, ptr %11, align 8
  store i64 0, ptr %12, align 8
  %58 = getelementptr inbounds nuw i8, ptr %36, i64 24
  %59 = load i64, ptr %58, align 8
  store i64 %59, ptr %13, align 8
  %60 = getelementptr inbounds nuw i8, ptr %36, i64 40
  %61 = load i64, ptr %60, align 8
  store i64 %61, ptr %14, align 8
  store i64 %30, ptr %15, align 8
  %62 = getelementptr inbounds nuw i8, ptr %36, i64 8
  %63 = load i64, ptr %62, align 8
  %64 = inttoptr i64 %63 to ptr
  %65 = getelementptr inbounds nuw i8, ptr %36, i64 16
  %66 = load i64, ptr %65, align 8
  %67 = inttoptr i64 %66 to ptr
  %68 = load i64, ptr %58, align 8
  %69 = inttoptr i64 %68 to ptr
  %70 = getelementptr inbounds nuw i8, ptr %36, i64 32
  %71 = load i64, ptr %70, align 8
  %72 = tail call i32 %64(ptr %67, ptr %69, ptr %1, i64 %71, i64 %57) nounwind
  %73 = icmp eq i32 %72, 0
  br i1 %73, label %75, label %74

74:
  tail call fastcc void @wl.fail(ptr nonnull %0, ptr nonnull %1, i64 %30)
  br label %75

75:
  %76 = tail call i64 @wl.monotonic() nounwind
  %77 = getelementptr inbounds nuw i8, ptr %24, i64 40
  %78 = load i64, ptr %77, align 8
  %79 = icmp sgt i64 %78, 1
  br i1 %79, label %80, label %119

80:
  %81 = atomicrmw xchg ptr %0, i64 1 acquire, align 8
  %82 = icmp eq i64 %81, 0
  br i1 %82, label %93, label %86

83:
  %84 = atomicrmw xchg ptr %0, i64 1 acquire, align 8
  %85 = icmp eq i64 %84, 0
  br i1 %85, label %93, label %86

86:
  %87 = load atomic i64, ptr %0 monotonic, align 8
  %88 = icmp eq i64 %87, 0
  br i1 %88, label %83, label %89

89:
  %90 = tail call i32 @sched_yield() nounwind
  %91 = load atomic i64, ptr %0 monotonic, align 8
  %92 = icmp eq i64 %91, 0
  br i1 %92, label %83, label %89

93:
  %94 = sub i64 %76, %25
  %95 = getelementptr inbounds nuw i8, ptr %24, i64 88
  %96 = load i64, ptr %95, align 8
  %97 = add nsw i64 %94, %96
  store i64 %97, ptr %95, align 8
  %98 = getelementptr inbounds nuw i8, ptr %24, i64 80
  %99 = load i64, ptr %98, align 8
  %100 = icmp eq i64 %99, 0
  br i1 %100, label %114, label %101

101:
  %102 = phi ptr [ %105, %101 ], [ %16, %93 ]
  %103 = load ptr, ptr %102, align 8
  %104 = icmp eq ptr %103, %24
  %105 = getelementptr inbounds nuw i8, ptr %103, i64 96
  br i1 %104, label %106, label %101

106:
  %107 = getelementptr inbounds nuw i8, ptr %24, i64 96
  %108 = load ptr, ptr %107, align 8
  %109 = ptrtoint ptr %108 to i64
  store atomic i64 %109, ptr %102 monotonic, align 8
  store i64 0, ptr %98, align 8
  %110 = getelementptr inbounds nuw i8, ptr %24, i64 104
  %111 = load i64, ptr %110, align 8
  %112 = load i64, ptr %17, align 8
  %113 = sub nsw i64 %112, %111
  store i64 %113, ptr %17, align 8
  br label %114

114:
  %115 = getelementptr inbounds nuw i8, ptr %24, i64 72
  %116 = load i64, ptr %115, align 8
  %117 = add nsw i64 %116, -1
  store i64 %117, ptr %115, align 8
  %118 = icmp eq i64 %117, 0
  store atomic i64 0, ptr %0 release, align 8
  br i1 %118, label %122, label %209

119:
  %120 = sub nsw i64 %76, %25
  %121 = getelementptr inbounds nuw i8, ptr %24, i64 88
  store i64 %120, ptr %121, align 8
  br label %122

122:
  %123 = load i64, ptr %18, align 8
  %124 = add nsw i64 %123, 1
  store i64 %124, ptr %18, align 8
  %125 = getelementptr inbounds nuw i8, ptr %24, i64 16
  %126 = load i64, ptr %125, align 8
  %127 = getelementptr inbounds nuw i8, ptr %24, i64 24
  %128 = load i64, ptr %127, align 8
  %129 = icmp eq i64 %126, %128
  %130 = load ptr, ptr %4, align 8
  %131 = icmp slt i64 %126, %128
  br i1 %131, label %132, label %181

132:
  %133 = getelementptr inbounds nuw i8, ptr %130, i64 8
  br label %134

134:
  %135 = phi ptr [ null, %132 ], [ %178, %177 ]
  %136 = phi i64 [ %126, %132 ], [ %179, %177 ]
  %137 = load ptr, ptr %130, align 8
  %138 = load ptr, ptr %133, align 8
  %139 = getelementptr inbounds i64, ptr %138, i64 %136
  %140 = load i64, ptr %139, align 8
  %141 = getelementptr inbounds %struct.node, ptr %137, i64 %140
  %142 = getelementptr inbounds nuw i8, ptr %141, i64 8
  %143 = load i64, ptr %142, align 8
  %144 = icmp sgt i64 %143, 1
  br i1 %144, label %145, label %151

145:
  %146 = getelementptr inbounds nuw i8, ptr %141, i64 64
  %147 = atomicrmw sub ptr %146, i64 1 acq_rel, align 8
  %148 = icmp eq i64 %147, 1
  br i1 %148, label %149, label %177

149:
  %150 = load i64, ptr %142, align 8
  br label %151

151:
  %152 = phi i64 [ %150, %149 ], [ %143, %134 ]
  %153 = getelementptr inbounds nuw i8, ptr %141, i64 64
  store i64 %152, ptr %153, align 8
  %154 = getelementptr inbounds nuw i8, ptr %141, i64 88
  store i64 0, ptr %154, align 8
  %155 = load i64, ptr %141, align 8
  %156 = icmp eq i64 %155, 1
  br i1 %156, label %157, label %170

157:
  %158 = load ptr, ptr %10, align 8
  %159 = load ptr, ptr %4, align 8
  %160 = load ptr, ptr %159, align 8
  %161 = ptrtoint ptr %141 to i64
  %162 = ptrtoint ptr %160 to i64
  %163 = sub i64 %161, %162
  %164 = ashr exact i64 %163, 7
  %165 = getelementptr inbounds %struct.instruction, ptr %158, i64 %164
  %166 = getelementptr inbounds nuw i8, ptr %165, i64 16
  %167 = load i64, ptr %166, align 8
  %168 = inttoptr i64 %167 to ptr
  %169 = getelementptr inbounds nuw i8, ptr %168, i64 96
  store i64 0, ptr %169, align 8
  br label %170

170:
  %171 = icmp eq ptr %135, null
  br i1 %171, label %172, label %176

172:
  %173 = getelementptr inbounds nuw i8, ptr %141, i64 40
  %174 = load i64, ptr %173, align 8
  %175 = icmp eq i64 %174, 1
  br i1 %175, label %177, label %176

176:
  tail call fastcc void @wl.enqueue(ptr %0, ptr nonnull %141)
  br label %177

177:
  %178 = phi ptr [ %135, %145 ], [ %135, %176 ], [ %141, %172 ]
  %179 = add i64 %136, 1
  %180 = icmp eq i64 %179, %128
  br i1 %180, label %181, label %134

181:
  %182 = phi ptr [ null, %122 ], [ %178, %177 ]
  br i1 %129, label %183, label %207

183:
  %184 = atomicrmw sub ptr %19, i64 1 acq_rel, align 8
  %185 = icmp eq i64 %184, 1
  br i1 %185, label %186, label %207

186:
  %187 = atomicrmw xchg ptr %0, i64 1 acquire, align 8
  %188 = icmp eq i64 %187, 0
  br i1 %188, label %199, label %192

189:
  %190 = atomicrmw xchg ptr %0, i64 1 acquire, align 8
  %191 = icmp eq i64 %190, 0
  br i1 %191, label %199, label %192

192:
  %193 = load atomic i64, ptr %0 monotonic, align 8
  %194 = icmp eq i64 %193, 0
  br i1 %194, label %189, label %195

195:
  %196 = tail call i32 @sched_yield() nounwind
  %197 = load atomic i64, ptr %0 monotonic, align 8
  %198 = icmp eq i64 %197, 0
  br i1 %198, label %189, label %195

199:
  %200 = load i64, ptr %20, align 8
  %201 = icmp eq i64 %200, 0
  br i1 %201, label %206, label %202

202:
  %203 = load i64, ptr %21, align 8
  %204 = add nsw i64 %203, 1
  store i64 %204, ptr %21, align 8
  store i64 0, ptr %20, align 8
  %205 = tail call i32 @sem_post(ptr nonnull %22) nounwind
  br label %206

206:
  store atomic i64 0, ptr %0 release, align 8
  br label %207

207:
  %208 = icmp eq ptr %182, null
  br i1 %208, label %209, label %23

209:
  ret void
}

define internal fastcc void @wl.run_queued(ptr %0, ptr %1) unnamed_addr nounwind {
  %3 = tail call i64 @wl.monotonic() nounwind
  %4 = add nsw i64 %3, 50000
  %5 = atomicrmw xchg ptr %0, i64 1 acquire, align 8
  %6 = icmp eq i64 %5, 0
  br i1 %6, label %17, label %10

7:
  %8 = atomicrmw xchg ptr %0, i64 1 acquire, align 8
  %9 = icmp eq i64 %8, 0
  br i1 %9, label %17, label %10

10:
  %11 = load atomic i64, ptr %0 monotonic, align 8
  %12 = icmp eq i64 %11, 0
  br i1 %12, label %7, label %13

13:
  %14 = tail call i32 @sched_yield() nounwind
  %15 = load atomic i64, ptr %0 monotonic, align 8
  %16 = icmp eq i64 %15, 0
  br i1 %16, label %7, label %13

17:
  %18 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %19 = load i64, ptr %18, align 8
  %20 = add nsw i64 %19, 1
  %21 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %22 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %23 = getelementptr inbounds nuw i8, ptr %0, i64 64
  %24 = getelementptr inbounds nuw i8, ptr %0, i64 128
  %25 = icmp eq ptr %1, %24
  %26 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %27 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %28 = getelementptr inbounds nuw i8, ptr %1, i64 16
  %29 = getelementptr inbounds nuw i8, ptr %0, i64 48
  br label %30

30:
  %31 = phi i64 [ %20, %17 ], [ %136, %134 ]
  %32 = phi i64 [ %4, %17 ], [ %99, %134 ]
  store i64 %31, ptr %18, align 8
  br i1 %25, label %33, label %40

33:
  %34 = load ptr, ptr %23, align 8
  %35 = getelementptr inbounds nuw i8, ptr %34, i64 40
  %36 = load atomic i64, ptr %35 acquire, align 8
  %37 = icmp eq i64 %36, 0
  br i1 %37, label %38, label %46

38:
  %39 = load i64, ptr %18, align 8
  br label %137

40:
  %41 = load atomic i64, ptr %21 monotonic, align 8
  %42 = icmp eq i64 %41, 0
  br i1 %42, label %43, label %137

43:
  %44 = load atomic i64, ptr %22 monotonic, align 8
  %45 = icmp eq i64 %44, 0
  br i1 %45, label %46, label %137

46:
  %47 = load ptr, ptr %26, align 8
  %48 = icmp ne ptr %47, null
  br i1 %48, label %49, label %79

49:
  %50 = getelementptr inbounds nuw i8, ptr %47, i64 104
  %51 = load i64, ptr %50, align 8
  %52 = icmp sgt i64 %51, 0
  %53 = sext i1 %52 to i64
  %54 = load i64, ptr %29, align 8
  %55 = add i64 %54, %53
  store i64 %55, ptr %29, align 8
  %56 = load i64, ptr %50, align 8
  %57 = icmp sgt i64 %56, 0
  %58 = sext i1 %57 to i64
  %59 = add i64 %56, %58
  store i64 %59, ptr %50, align 8
  %60 = getelementptr inbounds nuw i8, ptr %47, i64 72
  %61 = load i64, ptr %60, align 8
  %62 = add nsw i64 %61, 1
  store i64 %62, ptr %60, align 8
  %63 = getelementptr inbounds nuw i8, ptr %47, i64 40
  %64 = load i64, ptr %63, align 8
  %65 = icmp eq i64 %62, %64
  br i1 %65, label %66, label %86

66:
  %67 = phi ptr [ %70, %66 ], [ %26, %49 ]
  %68 = load ptr, ptr %67, align 8
  %69 = icmp eq ptr %68, %47
  %70 = getelementptr inbounds nuw i8, ptr %68, i64 96
  br i1 %69, label %71, label %66

71:
  %72 = getelementptr inbounds nuw i8, ptr %47, i64 96
  %73 = load ptr, ptr %72, align 8
  %74 = ptrtoint ptr %73 to i64
  store atomic i64 %74, ptr %67 monotonic, align 8
  %75 = getelementptr inbounds nuw i8, ptr %47, i64 80
  store i64 0, ptr %75, align 8
  %76 = load i64, ptr %50, align 8
  %77 = load i64, ptr %29, align 8
  %78 = sub nsw i64 %77, %76
  store i64 %78, ptr %29, align 8
  br label %86

79:
  %80 = tail call i64 @wl.monotonic() nounwind
  %81 = icmp sge i64 %80, %32
  %82 = zext i1 %81 to i64
  %83 = sext i1 %81 to i64
  %84 = load i64, ptr %18, align 8
  %85 = add i64 %84, %83
  store i64 %85, ptr %18, align 8
  store i64 %82, ptr %27, align 8
  store atomic i64 0, ptr %0 release, align 8
  br i1 %81, label %90, label %97

86:
  %87 = load i64, ptr %18, align 8
  %88 = add i64 %87, -1
  store i64 %88, ptr %18, align 8
  store i64 0, ptr %27, align 8
  store atomic i64 0, ptr %0 release, align 8
  %89 = load ptr, ptr %1, align 8
  tail call fastcc void @wl.work(ptr nonnull %0, ptr %89, ptr nonnull %47)
  br label %93

90:
  %91 = tail call i32 @sem_wait(ptr nonnull %28) nounwind
  %92 = icmp eq i32 %91, 0
  br i1 %92, label %93, label %90

93:
  %94 = tail call i64 @wl.monotonic() nounwind
  %95 = add nsw i64 %94, 50000
  %96 = zext i1 %48 to i64
  br label %97

97:
  %98 = phi i64 [ %96, %93 ], [ 0, %79 ]
  %99 = phi i64 [ %95, %93 ], [ %32, %79 ]
  %100 = load atomic i64, ptr %26 monotonic, align 8
  %101 = icmp eq i64 %100, 0
  br i1 %101, label %102, label %121

102:
  br i1 %25, label %103, label %108

103:
  %104 = load ptr, ptr %23, align 8
  %105 = getelementptr inbounds nuw i8, ptr %104, i64 40
  %106 = load atomic i64, ptr %105 acquire, align 8
  %107 = icmp eq i64 %106, 0
  br i1 %107, label %121, label %114

108:
  %109 = load atomic i64, ptr %21 monotonic, align 8
  %110 = icmp eq i64 %109, 0
  br i1 %110, label %111, label %121

111:
  %112 = load atomic i64, ptr %22 monotonic, align 8
  %113 = icmp eq i64 %112, 0
  br i1 %113, label %114, label %121

114:
  %115 = tail call i64 @wl.monotonic() nounwind
  %116 = icmp slt i64 %115, %99
  br i1 %116, label %117, label %121

117:
  %118 = tail call i32 @sched_yield() nounwind
  %119 = load atomic i64, ptr %26 monotonic, align 8
  %120 = icmp eq i64 %119, 0
  br i1 %120, label %102, label %121

121:
  %122 = atomicrmw xchg ptr %0, i64 1 acquire, align 8
  %123 = icmp eq i64 %122, 0
  br i1 %123, label %134, label %127

124:
  %125 = atomicrmw xchg ptr %0, i64 1 acquire, align 8
  %126 = icmp eq i64 %125, 0
  br i1 %126, label %134, label %127

127:
  %128 = load atomic i64, ptr %0 monotonic, align 8
  %129 = icmp eq i64 %128, 0
  br i1 %129, label %124, label %130

130:
  %131 = tail call i32 @sched_yield() nounwind
  %132 = load atomic i64, ptr %0 monotonic, align 8
  %133 = icmp eq i64 %132, 0
  br i1 %133, label %124, label %130

134:
  %135 = load i64, ptr %18, align 8
  %136 = add nsw i64 %135, %98
  br label %30

137:
  %138 = phi i64 [ %39, %38 ], [ %31, %43 ], [ %31, %40 ]
  %139 = add nsw i64 %138, -1
  store i64 %139, ptr %18, align 8
  store atomic i64 0, ptr %0 release, align 8
  ret void
}

define internal range(i32 1, 3) i32 @wl.serve(ptr %0, ptr %1, ptr readnone captures(none) %2, i64 %3, i64 %4) nounwind {
  %6 = getelementptr inbounds nuw i8, ptr %0, i64 128
  %7 = getelementptr inbounds %struct.seat, ptr %6, i64 %3
  store ptr %1, ptr %7, align 8
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 24
  br label %10

10:
  tail call fastcc void @wl.run_queued(ptr nonnull %0, ptr nonnull %7)
  %11 = atomicrmw xchg ptr %0, i64 1 acquire, align 8
  %12 = icmp eq i64 %11, 0
  br i1 %12, label %23, label %16

13:
  %14 = atomicrmw xchg ptr %0, i64 1 acquire, align 8
  %15 = icmp eq i64 %14, 0
  br i1 %15, label %23, label %16

16:
  %17 = load atomic i64, ptr %0 monotonic, align 8
  %18 = icmp eq i64 %17, 0
  br i1 %18, label %13, label %19

19:
  %20 = tail call i32 @sched_yield() nounwind
  %21 = load atomic i64, ptr %0 monotonic, align 8
  %22 = icmp eq i64 %21, 0
  br i1 %22, label %13, label %19

23:
  %24 = load i64, ptr %8, align 8
  %25 = icmp sgt i64 %24, 0
  %26 = load i64, ptr %9, align 8
  %27 = icmp ne i64 %26, 0
  %28 = sext i1 %25 to i64
  %29 = add i64 %24, %28
  store i64 %29, ptr %8, align 8
  store atomic i64 0, ptr %0 release, align 8
  %30 = select i1 %27, i1 true, i1 %25
  br i1 %30, label %31, label %10

31:
  %32 = select i1 %27, i32 2, i32 1
  ret i32 %32
}

define internal noundef i32 @wl.call(ptr %0, ptr readnone captures(none) %1, ptr readnone captures(none) %2, i64 %3, i64 %4) nounwind {
  %6 = atomicrmw xchg ptr %0, i64 1 acquire, align 8
  %7 = icmp eq i64 %6, 0
  br i1 %7, label %18, label %11

8:
  %9 = atomicrmw xchg ptr %0, i64 1 acquire, align 8
  %10 = icmp eq i64 %9, 0
  br i1 %10, label %18, label %11

11:
  %12 = load atomic i64, ptr %0 monotonic, align 8
  %13 = icmp eq i64 %12, 0
  br i1 %13, label %8, label %14

14:
  %15 = tail call i32 @sched_yield() nounwind
  %16 = load atomic i64, ptr %0 monotonic, align 8
  %17 = icmp eq i64 %16, 0
  br i1 %17, label %8, label %14

18:
  %19 = icmp slt i64 %3, 0
  br i1 %19, label %20, label %24

20:
  %21 = getelementptr inbounds nuw i8, ptr %0, i64 24
  store atomic i64 1, ptr %21 monotonic, align 8
  %22 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %23 = load i64, ptr %22, align 8
  br label %33

24:
  %25 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %26 = load i64, ptr %25, align 8
  %27 = add nsw i64 %26, %3
  store atomic i64 %27, ptr %25 monotonic, align 8
  %28 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %29 = load i64, ptr %28, align 8
  %30 = sub nsw i64 %27, %29
  %31 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %32 = load i64, ptr %31, align 8
  br label %33

33:
  %34 = phi i64 [ %23, %20 ], [ %32, %24 ]
  %35 = phi i64 [ %23, %20 ], [ %30, %24 ]
  %36 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %37 = icmp sgt i64 %34, 0
  %38 = icmp sgt i64 %35, 0
  %39 = select i1 %37, i1 %38, i1 false
  br i1 %39, label %40, label %65

40:
  %41 = getelementptr inbounds nuw i8, ptr %0, i64 128
  %42 = getelementptr inbounds nuw i8, ptr %0, i64 40
  br label %43

43:
  %44 = phi i64 [ %34, %40 ], [ %59, %58 ]
  %45 = phi i64 [ 0, %40 ], [ %61, %58 ]
  %46 = phi i64 [ %35, %40 ], [ %60, %58 ]
  %47 = getelementptr inbounds nuw %struct.seat, ptr %41, i64 %45
  %48 = getelementptr inbounds nuw i8, ptr %47, i64 8
  %49 = load i64, ptr %48, align 8
  %50 = icmp eq i64 %49, 0
  br i1 %50, label %58, label %51

51:
  %52 = load i64, ptr %42, align 8
  %53 = add nsw i64 %52, 1
  store i64 %53, ptr %42, align 8
  store i64 0, ptr %48, align 8
  %54 = getelementptr inbounds nuw i8, ptr %47, i64 16
  %55 = tail call i32 @sem_post(ptr nonnull %54) nounwind
  %56 = add nsw i64 %46, -1
  %57 = load i64, ptr %36, align 8
  br label %58

58:
  %59 = phi i64 [ %57, %51 ], [ %44, %43 ]
  %60 = phi i64 [ %56, %51 ], [ %46, %43 ]
  %61 = add nuw nsw i64 %45, 1
  %62 = icmp slt i64 %61, %59
  %63 = icmp sgt i64 %60, 0
  %64 = select i1 %62, i1 %63, i1 false
  br i1 %64, label %43, label %65

65:
  store atomic i64 0, ptr %0 release, align 8
  ret i32 0
}

define internal noundef i32 @wl.open(ptr initializes((32, 40), (128, 136)) %0, ptr %1, ptr readnone captures(none) %2, i64 %3, i64 %4) nounwind {
  %6 = getelementptr inbounds nuw i8, ptr %0, i64 32
  store i64 %3, ptr %6, align 8
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 128
  store ptr %1, ptr %7, align 8
  %8 = icmp sgt i64 %3, 0
  br i1 %8, label %10, label %9

9:
  ret i32 0

10:
  %11 = phi i64 [ %15, %10 ], [ 0, %5 ]
  %12 = getelementptr inbounds nuw %struct.seat, ptr %7, i64 %11
  %13 = getelementptr inbounds nuw i8, ptr %12, i64 16
  %14 = tail call i32 @sem_init(ptr nonnull %13, i32 0, i32 0) nounwind
  %15 = add nuw nsw i64 %11, 1
  %16 = icmp eq i64 %15, %3
  br i1 %16, label %9, label %10
}

declare i32 @sem_init(ptr, i32, i32) nounwind

declare i32 @sem_post(ptr) nounwind

define internal fastcc void @wl.fail(ptr captures(none) %0, ptr %1, i64 range(i64 -72057594037927936, 72057594037927936) %2) unnamed_addr noinline nounwind {
  %4 = atomicrmw xchg ptr %0, i64 1 acquire, align 8
  %5 = icmp eq i64 %4, 0
  br i1 %5, label %16, label %9

6:
  %7 = atomicrmw xchg ptr %0, i64 1 acquire, align 8
  %8 = icmp eq i64 %7, 0
  br i1 %8, label %16, label %9

9:
  %10 = load atomic i64, ptr %0 monotonic, align 8
  %11 = icmp eq i64 %10, 0
  br i1 %11, label %6, label %12

12:
  %13 = tail call i32 @sched_yield() nounwind
  %14 = load atomic i64, ptr %0 monotonic, align 8
  %15 = icmp eq i64 %14, 0
  br i1 %15, label %6, label %12

16:
  %17 = getelementptr inbounds nuw i8, ptr %0, i64 72
  %18 = load ptr, ptr %17, align 8
  %19 = icmp eq ptr %18, null
  br i1 %19, label %33, label %20

20:
  %21 = getelementptr inbounds nuw i8, ptr %18, i64 16
  %22 = load i64, ptr %21, align 8
  %23 = and i64 %22, 255
  %24 = icmp eq i64 %23, 8
  br i1 %24, label %25, label %36

25:
  %26 = getelementptr inbounds nuw i8, ptr %18, i64 24
  %27 = load i64, ptr %26, align 8
  %28 = icmp eq i64 %27, 0
  br i1 %28, label %29, label %36

29:
  %30 = getelementptr inbounds nuw i8, ptr %18, i64 104
  %31 = load i64, ptr %30, align 8
  %32 = icmp eq i64 %31, 0
  br i1 %32, label %33, label %36

33:
  %34 = getelementptr inbounds nuw i8, ptr %0, i64 80
  store i64 %2, ptr %34, align 8
  %35 = ptrtoint ptr %1 to i64
  store atomic i64 %35, ptr %17 monotonic, align 8
  br label %36

36:
  store atomic i64 0, ptr %0 release, align 8
  ret void
}

define internal fastcc void @wl.enqueue(ptr %0, ptr %1) unnamed_addr noinline nounwind {
  %3 = atomicrmw xchg ptr %0, i64 1 acquire, align 8
  %4 = icmp eq i64 %3, 0
  br i1 %4, label %15, label %8

5:
  %6 = atomicrmw xchg ptr %0, i64 1 acquire, align 8
  %7 = icmp eq i64 %6, 0
  br i1 %7, label %15, label %8

8:
  %9 = load atomic i64, ptr %0 monotonic, align 8
  %10 = icmp eq i64 %9, 0
  br i1 %10, label %5, label %11

11:
  %12 = tail call i32 @sched_yield() nounwind
  %13 = load atomic i64, ptr %0 monotonic, align 8
  %14 = icmp eq i64 %13, 0
  br i1 %14, label %5, label %11

15:
  %16 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %17 = load ptr, ptr %16, align 8
  %18 = icmp eq ptr %17, null
  br i1 %18, label %38, label %19

19:
  %20 = getelementptr inbounds nuw i8, ptr %1, i64 32
  %21 = load i64, ptr %20, align 8
  %22 = getelementptr inbounds nuw i8, ptr %17, i64 32
  %23 = load i64, ptr %22, align 8
  %24 = icmp slt i64 %23, %21
  br i1 %24, label %38, label %29

25:
  %26 = getelementptr inbounds nuw i8, ptr %32, i64 32
  %27 = load i64, ptr %26, align 8
  %28 = icmp slt i64 %27, %21
  br i1 %28, label %36, label %29

29:
  %30 = phi ptr [ %32, %25 ], [ %17, %19 ]
  %31 = getelementptr inbounds nuw i8, ptr %30, i64 96
  %32 = load ptr, ptr %31, align 8
  %33 = icmp eq ptr %32, null
  br i1 %33, label %34, label %25

34:
  %35 = getelementptr inbounds nuw i8, ptr %30, i64 96
  br label %38

36:
  %37 = getelementptr inbounds nuw i8, ptr %30, i64 96
  br label %38

38:
  %39 = phi ptr [ %16, %15 ], [ %16, %19 ], [ %35, %34 ], [ %37, %36 ]
  %40 = phi ptr [ null, %15 ], [ %17, %19 ], [ null, %34 ], [ %32, %36 ]
  %41 = getelementptr inbounds nuw i8, ptr %1, i64 96
  store ptr %40, ptr %41, align 8
  %42 = getelementptr inbounds nuw i8, ptr %1, i64 80
  store i64 1, ptr %42, align 8
  %43 = getelementptr inbounds nuw i8, ptr %1, i64 72
  store i64 0, ptr %43, align 8
  %44 = getelementptr inbounds nuw i8, ptr %1, i64 56
  %45 = load i64, ptr %44, align 8
  %46 = getelementptr inbounds nuw i8, ptr %1, i64 104
  store i64 %45, ptr %46, align 8
  %47 = getelementptr inbounds nuw i8, ptr %0, i64 48
  %48 = load i64, ptr %47, align 8
  %49 = add nsw i64 %48, %45
  store i64 %49, ptr %47, align 8
  %50 = ptrtoint ptr %1 to i64
  store atomic i64 %50, ptr %39 monotonic, align 8
  %51 = load i64, ptr %47, align 8
  %52 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %53 = load i64, ptr %52, align 8
  %54 = sub nsw i64 %51, %53
  %55 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %56 = load i64, ptr %55, align 8
  %57 = icmp sgt i64 %56, 0
  %58 = icmp sgt i64 %54, 0
  %59 = select i1 %57, i1 %58, i1 false
  br i1 %59, label %60, label %84

60:
  %61 = getelementptr inbounds nuw i8, ptr %0, i64 128
  br label %62

62:
  %63 = phi i64 [ %56, %60 ], [ %78, %77 ]
  %64 = phi i64 [ 0, %60 ], [ %80, %77 ]
  %65 = phi i64 [ %54, %60 ], [ %79, %77 ]
  %66 = getelementptr inbounds nuw %struct.seat, ptr %61, i64 %64
  %67 = getelementptr inbounds nuw i8, ptr %66, i64 8
  %68 = load i64, ptr %67, align 8
  %69 = icmp eq i64 %68, 0
  br i1 %69, label %77, label %70

70:
  %71 = load i64, ptr %52, align 8
  %72 = add nsw i64 %71, 1
  store i64 %72, ptr %52, align 8
  store i64 0, ptr %67, align 8
  %73 = getelementptr inbounds nuw i8, ptr %66, i64 16
  %74 = tail call i32 @sem_post(ptr nonnull %73) nounwind
  %75 = add nsw i64 %65, -1
  %76 = load i64, ptr %55, align 8
  br label %77

77:
  %78 = phi i64 [ %76, %70 ], [ %63, %62 ]
  %79 = phi i64 [ %75, %70 ], [ %65, %62 ]
  %80 = add nuw nsw i64 %64, 1
  %81 = icmp slt i64 %80, %78
  %82 = icmp sgt i64 %79, 0
  %83 = select i1 %81, i1 %82, i1 false
  br i1 %83, label %62, label %84

84:
  store atomic i64 0, ptr %0 release, align 8
  ret void
}

declare i32 @sem_wait(ptr)

%struct.range = type { i64, i64 }

define internal { i64, i64 } @wl.allocation(ptr readonly captures(none) %0, ptr readnone captures(none) %1, i64 %2) mustprogress nofree noinline norecurse nosync nounwind willreturn memory(read, inaccessiblemem: none, target_mem0: none, target_mem1: none) {
  %4 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %5 = load ptr, ptr %4, align 8
  %6 = getelementptr inbounds nuw i8, ptr %0, i64 64
  %7 = load i64, ptr %6, align 8
  %8 = icmp eq i64 %7, 0
  br i1 %8, label %31, label %9

9:
  %10 = phi i64 [ %19, %9 ], [ %7, %3 ]
  %11 = phi i64 [ %18, %9 ], [ 0, %3 ]
  %12 = add i64 %10, %11
  %13 = lshr i64 %12, 1
  %14 = getelementptr inbounds nuw %struct.range, ptr %5, i64 %13
  %15 = load i64, ptr %14, align 8
  %16 = icmp ult i64 %2, %15
  %17 = add nuw i64 %13, 1
  %18 = select i1 %16, i64 %11, i64 %17
  %19 = select i1 %16, i64 %13, i64 %10
  %20 = icmp ult i64 %18, %19
  br i1 %20, label %9, label %21

21:
  %22 = icmp eq i64 %18, 0
  br i1 %22, label %31, label %23

23:
  %24 = getelementptr %struct.range, ptr %5, i64 %18
  %25 = getelementptr i8, ptr %24, i64 -16
  %26 = load i64, ptr %25, align 8
  %27 = sub i64 %2, %26
  %28 = getelementptr i8, ptr %24, i64 -8
  %29 = load i64, ptr %28, align 8
  %30 = icmp ult i64 %27, %29
  br i1 %30, label %32, label %31

31:
  br label %32

32:
  %33 = phi i64 [ -1, %31 ], [ %26, %23 ]
  %34 = phi i64 [ 0, %31 ], [ %29, %23 ]
  %35 = insertvalue { i64, i64 } poison, i64 %33, 0
  %36 = insertvalue { i64, i64 } %35, i64 %34, 1
  ret { i64, i64 } %36
}

define internal { i64, i64 } @wl.argument(ptr readonly captures(none) %0, ptr readonly captures(none) %1, i64 %2, i64 %3) mustprogress nofree noinline norecurse nosync nounwind willreturn memory(read, inaccessiblemem: none, target_mem0: none, target_mem1: none) {
  %5 = tail call { i64, i64 } @wl.allocation(ptr %0, ptr poison, i64 %2) nounwind willreturn memory(read)
  %6 = and i64 %3, 7
  %7 = icmp eq i64 %6, 0
  br i1 %7, label %8, label %27

8:
  %9 = extractvalue { i64, i64 } %5, 1
  %10 = getelementptr inbounds nuw i8, ptr %1, i64 88
  %11 = load i64, ptr %10, align 8
  %12 = inttoptr i64 %11 to ptr
  %13 = getelementptr inbounds nuw i8, ptr %0, i64 72
  %14 = load i64, ptr %13, align 8
  %15 = add nsw i64 %14, 7
  %16 = sdiv i64 %15, 8
  %17 = getelementptr inbounds i64, ptr %12, i64 %16
  %18 = getelementptr inbounds nuw i8, ptr %17, i64 %3
  %19 = load i64, ptr %18, align 8
  %20 = icmp ne i64 %19, 0
  %21 = icmp ne i64 %9, 0
  %22 = select i1 %20, i1 %21, i1 false
  br i1 %22, label %23, label %27

23:
  %24 = add i64 %19, -1
  %25 = insertvalue { i64, i64 } poison, i64 %2, 0
  %26 = insertvalue { i64, i64 } %25, i64 %24, 1
  br label %27

27:
  %28 = phi { i64, i64 } [ %26, %23 ], [ %5, %8 ], [ %5, %4 ]
  ret { i64, i64 } %28
}

define internal { i64, i64 } @wl.reached(ptr readonly captures(none) %0, ptr readonly captures(none) %1, i64 %2) mustprogress nofree noinline norecurse nosync nounwind willreturn memory(read, inaccessiblemem: none, target_mem0: none, target_mem1: none) {
  %4 = tail call { i64, i64 } @wl.allocation(ptr %0, ptr poison, i64 %2) nounwind willreturn memory(read)
  %5 = extractvalue { i64, i64 } %4, 0
  %6 = extractvalue { i64, i64 } %4, 1
  %7 = getelementptr inbounds nuw i8, ptr %1, i64 88
  %8 = load i64, ptr %7, align 8
  %9 = inttoptr i64 %8 to ptr
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 72
  %11 = load i64, ptr %10, align 8
  %12 = add nsw i64 %11, 7
  %13 = sdiv i64 %12, 8
  %14 = icmp ne i64 %6, 0
  %15 = add i64 %11, -1
  %16 = icmp ult i64 %15, -15
  %17 = select i1 %14, i1 %16, i1 false
  br i1 %17, label %18, label %24

18:
  %19 = getelementptr i64, ptr %9, i64 %13
  br label %26

20:
  %21 = insertvalue { i64, i64 } poison, i64 %51, 0
  %22 = insertvalue { i64, i64 } %21, i64 %52, 1
  %23 = select i1 %53, { i64, i64 } %22, { i64, i64 } %4
  br label %24

24:
  %25 = phi { i64, i64 } [ %4, %3 ], [ %23, %20 ]
  ret { i64, i64 } %25

26:
  %27 = phi i64 [ 0, %18 ], [ %54, %50 ]
  %28 = phi i1 [ false, %18 ], [ %53, %50 ]
  %29 = phi i64 [ 0, %18 ], [ %52, %50 ]
  %30 = phi i64 [ -1, %18 ], [ %51, %50 ]
  %31 = getelementptr inbounds nuw i64, ptr %9, i64 %27
  %32 = load i64, ptr %31, align 8
  %33 = getelementptr i64, ptr %19, i64 %27
  %34 = load i64, ptr %33, align 8
  %35 = add i64 %34, -1
  %36 = icmp ne i64 %34, 0
  %37 = sub i64 %32, %5
  %38 = icmp ult i64 %37, %6
  %39 = select i1 %36, i1 %38, i1 false
  br i1 %39, label %40, label %50

40:
  %41 = sub i64 %2, %32
  %42 = icmp ult i64 %41, %35
  br i1 %42, label %43, label %50

43:
  %44 = icmp eq i64 %29, 0
  br i1 %44, label %49, label %45

45:
  %46 = add i64 %35, %32
  %47 = add i64 %29, %30
  %48 = icmp ugt i64 %46, %47
  br i1 %48, label %49, label %50

49:
  br label %50

50:
  %51 = phi i64 [ %30, %26 ], [ %32, %49 ], [ %30, %45 ], [ %30, %40 ]
  %52 = phi i64 [ %29, %26 ], [ %35, %49 ], [ %29, %45 ], [ %29, %40 ]
  %53 = phi i1 [ %28, %26 ], [ true, %49 ], [ true, %45 ], [ true, %40 ]
  %54 = add nuw i64 %27, 1
  %55 = icmp ult i64 %54, %13
  br i1 %55, label %26, label %20
}

define internal { i64, i64 } @wl.find(ptr readonly captures(none) %0, ptr readonly captures(none) %1, i64 %2) mustprogress nofree noinline norecurse nosync nounwind willreturn memory(read, inaccessiblemem: none, target_mem0: none, target_mem1: none) {
  %4 = alloca [3 x %struct.range], align 16
  %5 = tail call { i64, i64 } @wl.reached(ptr %0, ptr %1, i64 %2) nounwind willreturn memory(read)
  %6 = extractvalue { i64, i64 } %5, 1
  %7 = icmp eq i64 %6, 0
  br i1 %7, label %8, label %42

8:
  call void @llvm.lifetime.start.p0(ptr nonnull %4) nounwind
  %9 = load i64, ptr %1, align 8
  store i64 %9, ptr %4, align 16
  %10 = getelementptr inbounds nuw i8, ptr %4, i64 8
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 48
  %12 = load i64, ptr %11, align 8
  store i64 %12, ptr %10, align 8
  %13 = getelementptr inbounds nuw i8, ptr %4, i64 16
  %14 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %15 = load i64, ptr %14, align 8
  store i64 %15, ptr %13, align 16
  %16 = getelementptr inbounds nuw i8, ptr %4, i64 24
  %17 = getelementptr inbounds nuw i8, ptr %1, i64 64
  %18 = load i64, ptr %17, align 8
  store i64 %18, ptr %16, align 8
  %19 = getelementptr inbounds nuw i8, ptr %4, i64 32
  %20 = getelementptr inbounds nuw i8, ptr %1, i64 88
  %21 = load i64, ptr %20, align 8
  store i64 %21, ptr %19, align 16
  %22 = getelementptr inbounds nuw i8, ptr %4, i64 40
  %23 = getelementptr inbounds nuw i8, ptr %0, i64 72
  %24 = load i64, ptr %23, align 8
  store i64 %24, ptr %22, align 8
  br label %28

25:
  %26 = add nuw nsw i32 %29, 1
  %27 = icmp eq i32 %26, 3
  br i1 %27, label %37, label %28

28:
  %29 = phi i32 [ 0, %8 ], [ %26, %25 ]
  %30 = zext nneg i32 %29 to i64
  %31 = getelementptr inbounds nuw %struct.range, ptr %4, i64 %30
  %32 = load i64, ptr %31, align 16
  %33 = sub i64 %2, %32
  %34 = getelementptr inbounds nuw i8, ptr %31, i64 8
  %35 = load i64, ptr %34, align 8
  %36 = icmp ult i64 %33, %35
  br i1 %36, label %37, label %25

37:
  %38 = phi i64 [ 0, %25 ], [ %35, %28 ]
  %39 = phi i64 [ -1, %25 ], [ %32, %28 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %4) nounwind
  %40 = insertvalue { i64, i64 } poison, i64 %39, 0
  %41 = insertvalue { i64, i64 } %40, i64 %38, 1
  br label %42

42:
  %43 = phi { i64, i64 } [ %41, %37 ], [ %5, %3 ]
  ret { i64, i64 } %43
}

define internal void @wl.fault(ptr captures(none) %0, i64 %1, i64 %2, i32 %3, i64 %4) cold mustprogress nofree noinline norecurse nosync nounwind optsize willreturn memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %7 = load i64, ptr %6, align 8
  %8 = icmp eq i64 %7, 0
  br i1 %8, label %9, label %14

9:
  store i64 %1, ptr %6, align 8
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 24
  store i64 %2, ptr %10, align 8
  %11 = zext i32 %3 to i64
  %12 = getelementptr inbounds nuw i8, ptr %0, i64 32
  store i64 %11, ptr %12, align 8
  %13 = getelementptr inbounds nuw i8, ptr %0, i64 48
  store i64 %4, ptr %13, align 8
  br label %14

14:
  ret void
}

define internal void @wl.overflow(ptr readonly captures(none) %0, ptr captures(none) %1, i64 %2, i32 %3, i32 %4, i32 %5) cold mustprogress nofree noinline norecurse nosync nounwind optsize willreturn memory(argmem: readwrite) {
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %8 = load i64, ptr %7, align 8
  %9 = trunc i64 %8 to i32
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %11 = load i64, ptr %10, align 8
  %12 = trunc i64 %11 to i32
  %13 = mul i32 %5, %12
  %14 = add i32 %13, %4
  %15 = mul i32 %14, %9
  %16 = add i32 %15, %3
  tail call void @wl.fault(ptr %1, i64 9, i64 %2, i32 %16, i64 0) cold
  ret void
}

define internal void @wl.begin(ptr captures(none) initializes((56, 64), (96, 104)) %0, ptr %1) alwaysinline mustprogress nofree norecurse nosync nounwind willreturn memory(argmem: readwrite) {
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 56
  store ptr %1, ptr %3, align 8
  %4 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %5 = load i64, ptr %4, align 8
  %6 = getelementptr inbounds nuw i8, ptr %0, i64 64
  %7 = load i64, ptr %6, align 8
  %8 = add i64 %5, -1048576
  %9 = add i64 %8, %7
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 96
  store i64 %9, ptr %10, align 8
  ret void
}

define internal noundef zeroext i1 @wl.ends_after(ptr readonly captures(none) %0, ptr captures(none) %1, i64 %2) alwaysinline mustprogress nofree norecurse nounwind willreturn memory(readwrite, target_mem0: none, target_mem1: none) {
  %4 = getelementptr inbounds nuw i8, ptr %1, i64 16
  %5 = load i64, ptr %4, align 8
  %6 = icmp eq i64 %5, 0
  br i1 %6, label %7, label %13

7:
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 80
  %9 = load ptr, ptr %8, align 8
  %10 = load volatile i64, ptr %9, align 8
  %11 = icmp eq i64 %10, 0
  br i1 %11, label %15, label %12

12:
  tail call void @wl.fault(ptr nonnull %1, i64 8, i64 0, i32 0, i64 0) cold
  br label %13

13:
  %14 = getelementptr inbounds nuw i8, ptr %1, i64 40
  store i64 %2, ptr %14, align 8
  br label %15

15:
  %16 = phi i1 [ true, %13 ], [ false, %7 ]
  ret i1 %16
}

define internal range(i32 0, 2) i32 @wl.share(ptr %0, ptr %1, ptr %2, i64 %3, i64 %4, ptr readonly captures(none) %5) nounwind {
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 96
  %8 = load atomic i64, ptr %7 monotonic, align 8
  %9 = icmp slt i64 %8, %3
  br i1 %9, label %10, label %26

10:
  %11 = phi i64 [ %24, %23 ], [ %8, %6 ]
  %12 = add nsw i64 %11, %4
  %13 = tail call i64 @llvm.smin.i64(i64 %12, i64 %3)
  %14 = cmpxchg ptr %7, i64 %11, i64 %13 monotonic monotonic, align 8
  %15 = extractvalue { i64, i1 } %14, 1
  %16 = extractvalue { i64, i1 } %14, 0
  br i1 %15, label %17, label %23

17:
  %18 = tail call i32 %5(ptr %0, ptr %1, ptr %2, i64 %11, i64 %13) nounwind
  %19 = icmp eq i32 %18, 0
  br i1 %19, label %21, label %20

20:
  store atomic i64 4611686018427387904, ptr %7 monotonic, align 8
  br label %26

21:
  %22 = load atomic i64, ptr %7 monotonic, align 8
  br label %23

23:
  %24 = phi i64 [ %16, %10 ], [ %22, %21 ]
  %25 = icmp slt i64 %24, %3
  br i1 %25, label %10, label %26

26:
  %27 = phi i32 [ 1, %20 ], [ 0, %6 ], [ 0, %23 ]
  ret i32 %27
}

define internal i64 @wl.nanoseconds() noinline nounwind {
  %1 = alloca [2 x i64], align 16
  call void @llvm.lifetime.start.p0(ptr nonnull %1) nounwind
  %2 = call i32 @clock_gettime(i32 0, ptr nonnull %1) nounwind
  %3 = load i64, ptr %1, align 16
  %4 = mul nsw i64 %3, 1000000000
  %5 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %6 = load i64, ptr %5, align 8
  %7 = add nsw i64 %4, %6
  call void @llvm.lifetime.end.p0(ptr nonnull %1) nounwind
  ret i64 %7
}

declare i32 @clock_gettime(i32, ptr)

define internal i64 @wl.monotonic() noinline nounwind {
  %1 = alloca [2 x i64], align 16
  call void @llvm.lifetime.start.p0(ptr nonnull %1) nounwind
  %2 = call i32 @clock_gettime(i32 1, ptr nonnull %1) nounwind
  %3 = load i64, ptr %1, align 16
  %4 = mul nsw i64 %3, 1000000000
  %5 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %6 = load i64, ptr %5, align 8
  %7 = add nsw i64 %4, %6
  call void @llvm.lifetime.end.p0(ptr nonnull %1) nounwind
  ret i64 %7
}
