; Made by tools/make_host_runtime.py from the C files of this folder with clang 22.1.8:
; clang --target=x86_64-linux-gnu -std=gnu11 -O2 -Wall -Wextra -Werror -Wno-unused-parameter -ffp-contract=off -fno-strict-aliasing -fno-vectorize -fno-slp-vectorize -fno-unroll-loops -Xclang -no-enable-noundef-analysis -S -emit-llvm
; Attributes of the target are taken away, and every function is called wl.NAME.

define internal void @wl.shfl_up(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %13, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 8192
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 12288
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 155648
  %12 = zext i32 %2 to i64
  br label %14

13:
  ret void

14:
  %15 = phi i64 [ 0, %6 ], [ %48, %47 ]
  %16 = trunc nuw i64 %15 to i32
  %17 = shl nuw i32 1, %16
  %18 = and i32 %17, %3
  %19 = icmp eq i32 %18, 0
  br i1 %19, label %47, label %20

20:
  %21 = add i32 %1, %16
  %22 = zext i32 %21 to i64
  %23 = getelementptr inbounds nuw i32, ptr %8, i64 %22
  %24 = load i32, ptr %23, align 4
  %25 = and i32 %24, 31
  %26 = getelementptr inbounds nuw i32, ptr %9, i64 %22
  %27 = load i32, ptr %26, align 4
  %28 = and i32 %27, 31
  %29 = lshr i32 %27, 8
  %30 = and i32 %29, 31
  %31 = and i32 %30, %16
  %32 = xor i32 %30, -1
  %33 = and i32 %28, %32
  %34 = or i32 %31, %33
  %35 = sub i32 %16, %25
  %36 = icmp sge i32 %35, %34
  %37 = select i1 %36, i32 %35, i32 %16
  %38 = icmp ult i32 %37, %2
  %39 = select i1 %38, i32 %37, i32 %16
  %40 = add i32 %39, %1
  %41 = zext i32 %40 to i64
  %42 = getelementptr inbounds nuw i32, ptr %7, i64 %41
  %43 = load i32, ptr %42, align 4
  %44 = getelementptr inbounds nuw i32, ptr %10, i64 %22
  store i32 %43, ptr %44, align 4
  %45 = zext i1 %36 to i32
  %46 = getelementptr inbounds nuw i32, ptr %11, i64 %22
  store i32 %45, ptr %46, align 4
  br label %47

47:
  %48 = add nuw nsw i64 %15, 1
  %49 = icmp eq i64 %48, %12
  br i1 %49, label %13, label %14
}

define internal void @wl.shfl_down(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %13, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 8192
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 12288
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 155648
  %12 = zext i32 %2 to i64
  br label %14

13:
  ret void

14:
  %15 = phi i64 [ 0, %6 ], [ %48, %47 ]
  %16 = trunc nuw i64 %15 to i32
  %17 = shl nuw i32 1, %16
  %18 = and i32 %17, %3
  %19 = icmp eq i32 %18, 0
  br i1 %19, label %47, label %20

20:
  %21 = add i32 %1, %16
  %22 = zext i32 %21 to i64
  %23 = getelementptr inbounds nuw i32, ptr %8, i64 %22
  %24 = load i32, ptr %23, align 4
  %25 = and i32 %24, 31
  %26 = getelementptr inbounds nuw i32, ptr %9, i64 %22
  %27 = load i32, ptr %26, align 4
  %28 = and i32 %27, 31
  %29 = lshr i32 %27, 8
  %30 = and i32 %29, 31
  %31 = and i32 %30, %16
  %32 = xor i32 %30, -1
  %33 = and i32 %28, %32
  %34 = or i32 %31, %33
  %35 = add i32 %25, %16
  %36 = icmp sle i32 %35, %34
  %37 = select i1 %36, i32 %35, i32 %16
  %38 = icmp ult i32 %37, %2
  %39 = select i1 %38, i32 %37, i32 %16
  %40 = add i32 %39, %1
  %41 = zext i32 %40 to i64
  %42 = getelementptr inbounds nuw i32, ptr %7, i64 %41
  %43 = load i32, ptr %42, align 4
  %44 = getelementptr inbounds nuw i32, ptr %10, i64 %22
  store i32 %43, ptr %44, align 4
  %45 = zext i1 %36 to i32
  %46 = getelementptr inbounds nuw i32, ptr %11, i64 %22
  store i32 %45, ptr %46, align 4
  br label %47

47:
  %48 = add nuw nsw i64 %15, 1
  %49 = icmp eq i64 %48, %12
  br i1 %49, label %13, label %14
}

define internal void @wl.shfl_bfly(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %13, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 8192
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 12288
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 155648
  %12 = zext i32 %2 to i64
  br label %14

13:
  ret void

14:
  %15 = phi i64 [ 0, %6 ], [ %48, %47 ]
  %16 = trunc nuw i64 %15 to i32
  %17 = shl nuw i32 1, %16
  %18 = and i32 %17, %3
  %19 = icmp eq i32 %18, 0
  br i1 %19, label %47, label %20

20:
  %21 = add i32 %1, %16
  %22 = zext i32 %21 to i64
  %23 = getelementptr inbounds nuw i32, ptr %8, i64 %22
  %24 = load i32, ptr %23, align 4
  %25 = and i32 %24, 31
  %26 = getelementptr inbounds nuw i32, ptr %9, i64 %22
  %27 = load i32, ptr %26, align 4
  %28 = and i32 %27, 31
  %29 = lshr i32 %27, 8
  %30 = and i32 %29, 31
  %31 = and i32 %30, %16
  %32 = xor i32 %30, -1
  %33 = and i32 %28, %32
  %34 = or i32 %31, %33
  %35 = xor i32 %25, %16
  %36 = icmp sle i32 %35, %34
  %37 = select i1 %36, i32 %35, i32 %16
  %38 = icmp ult i32 %37, %2
  %39 = select i1 %38, i32 %37, i32 %16
  %40 = add i32 %39, %1
  %41 = zext i32 %40 to i64
  %42 = getelementptr inbounds nuw i32, ptr %7, i64 %41
  %43 = load i32, ptr %42, align 4
  %44 = getelementptr inbounds nuw i32, ptr %10, i64 %22
  store i32 %43, ptr %44, align 4
  %45 = zext i1 %36 to i32
  %46 = getelementptr inbounds nuw i32, ptr %11, i64 %22
  store i32 %45, ptr %46, align 4
  br label %47

47:
  %48 = add nuw nsw i64 %15, 1
  %49 = icmp eq i64 %48, %12
  br i1 %49, label %13, label %14
}

define internal void @wl.shfl_idx(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %13, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 8192
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 12288
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 155648
  %12 = zext i32 %2 to i64
  br label %14

13:
  ret void

14:
  %15 = phi i64 [ 0, %6 ], [ %47, %46 ]
  %16 = trunc nuw i64 %15 to i32
  %17 = shl nuw i32 1, %16
  %18 = and i32 %17, %3
  %19 = icmp eq i32 %18, 0
  br i1 %19, label %46, label %20

20:
  %21 = add i32 %1, %16
  %22 = zext i32 %21 to i64
  %23 = getelementptr inbounds nuw i32, ptr %8, i64 %22
  %24 = load i32, ptr %23, align 4
  %25 = getelementptr inbounds nuw i32, ptr %9, i64 %22
  %26 = load i32, ptr %25, align 4
  %27 = lshr i32 %26, 8
  %28 = and i32 %27, 31
  %29 = and i32 %28, %16
  %30 = xor i32 %28, 31
  %31 = and i32 %30, %26
  %32 = or i32 %29, %31
  %33 = and i32 %30, %24
  %34 = or i32 %29, %33
  %35 = icmp samesign ule i32 %34, %32
  %36 = select i1 %35, i32 %34, i32 %16
  %37 = icmp ult i32 %36, %2
  %38 = select i1 %37, i32 %36, i32 %16
  %39 = add i32 %38, %1
  %40 = zext i32 %39 to i64
  %41 = getelementptr inbounds nuw i32, ptr %7, i64 %40
  %42 = load i32, ptr %41, align 4
  %43 = getelementptr inbounds nuw i32, ptr %10, i64 %22
  store i32 %42, ptr %43, align 4
  %44 = zext i1 %35 to i32
  %45 = getelementptr inbounds nuw i32, ptr %11, i64 %22
  store i32 %44, ptr %45, align 4
  br label %46

46:
  %47 = add nuw nsw i64 %15, 1
  %48 = icmp eq i64 %47, %12
  br i1 %48, label %13, label %14
}

define internal void @wl.vote_ballot(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %28, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = zext i32 %2 to i64
  br label %29

9:
  %10 = and i32 %40, %3
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %12 = zext i32 %2 to i64
  br label %13

13:
  %14 = phi i64 [ 0, %9 ], [ %26, %24 ]
  %15 = trunc nuw i64 %14 to i32
  %16 = add i32 %1, %15
  %17 = zext i32 %16 to i64
  %18 = getelementptr inbounds nuw i32, ptr %11, i64 %17
  %19 = shl nuw i32 1, %15
  %20 = and i32 %19, %3
  %21 = icmp eq i32 %20, 0
  br i1 %21, label %22, label %24

22:
  %23 = load i32, ptr %18, align 4
  br label %24

24:
  %25 = phi i32 [ %23, %22 ], [ %10, %13 ]
  store i32 %25, ptr %18, align 4
  %26 = add nuw nsw i64 %14, 1
  %27 = icmp eq i64 %26, %12
  br i1 %27, label %28, label %13

28:
  ret void

29:
  %30 = phi i64 [ 0, %6 ], [ %41, %29 ]
  %31 = phi i32 [ 0, %6 ], [ %40, %29 ]
  %32 = trunc nuw i64 %30 to i32
  %33 = add i32 %1, %32
  %34 = zext i32 %33 to i64
  %35 = getelementptr inbounds nuw i32, ptr %7, i64 %34
  %36 = load i32, ptr %35, align 4
  %37 = icmp ne i32 %36, 0
  %38 = zext i1 %37 to i32
  %39 = shl nuw i32 %38, %32
  %40 = or i32 %39, %31
  %41 = add nuw nsw i64 %30, 1
  %42 = icmp eq i64 %41, %8
  br i1 %42, label %9, label %29
}

define internal void @wl.vote_any(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %30, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = zext i32 %2 to i64
  br label %31

9:
  %10 = and i32 %42, %3
  %11 = icmp ne i32 %10, 0
  %12 = zext i1 %11 to i32
  %13 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %14 = zext i32 %2 to i64
  br label %15

15:
  %16 = phi i64 [ 0, %9 ], [ %28, %26 ]
  %17 = trunc nuw i64 %16 to i32
  %18 = add i32 %1, %17
  %19 = zext i32 %18 to i64
  %20 = getelementptr inbounds nuw i32, ptr %13, i64 %19
  %21 = shl nuw i32 1, %17
  %22 = and i32 %21, %3
  %23 = icmp eq i32 %22, 0
  br i1 %23, label %24, label %26

24:
  %25 = load i32, ptr %20, align 4
  br label %26

26:
  %27 = phi i32 [ %25, %24 ], [ %12, %15 ]
  store i32 %27, ptr %20, align 4
  %28 = add nuw nsw i64 %16, 1
  %29 = icmp eq i64 %28, %14
  br i1 %29, label %30, label %15

30:
  ret void

31:
  %32 = phi i64 [ 0, %6 ], [ %43, %31 ]
  %33 = phi i32 [ 0, %6 ], [ %42, %31 ]
  %34 = trunc nuw i64 %32 to i32
  %35 = add i32 %1, %34
  %36 = zext i32 %35 to i64
  %37 = getelementptr inbounds nuw i32, ptr %7, i64 %36
  %38 = load i32, ptr %37, align 4
  %39 = icmp ne i32 %38, 0
  %40 = zext i1 %39 to i32
  %41 = shl nuw i32 %40, %34
  %42 = or i32 %41, %33
  %43 = add nuw nsw i64 %32, 1
  %44 = icmp eq i64 %43, %8
  br i1 %44, label %9, label %31
}

define internal void @wl.vote_all(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %30, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = zext i32 %2 to i64
  br label %31

9:
  %10 = and i32 %42, %3
  %11 = icmp eq i32 %10, %3
  %12 = zext i1 %11 to i32
  %13 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %14 = zext i32 %2 to i64
  br label %15

15:
  %16 = phi i64 [ 0, %9 ], [ %28, %26 ]
  %17 = trunc nuw i64 %16 to i32
  %18 = add i32 %1, %17
  %19 = zext i32 %18 to i64
  %20 = getelementptr inbounds nuw i32, ptr %13, i64 %19
  %21 = shl nuw i32 1, %17
  %22 = and i32 %21, %3
  %23 = icmp eq i32 %22, 0
  br i1 %23, label %24, label %26

24:
  %25 = load i32, ptr %20, align 4
  br label %26

26:
  %27 = phi i32 [ %25, %24 ], [ %12, %15 ]
  store i32 %27, ptr %20, align 4
  %28 = add nuw nsw i64 %16, 1
  %29 = icmp eq i64 %28, %14
  br i1 %29, label %30, label %15

30:
  ret void

31:
  %32 = phi i64 [ 0, %6 ], [ %43, %31 ]
  %33 = phi i32 [ 0, %6 ], [ %42, %31 ]
  %34 = trunc nuw i64 %32 to i32
  %35 = add i32 %1, %34
  %36 = zext i32 %35 to i64
  %37 = getelementptr inbounds nuw i32, ptr %7, i64 %36
  %38 = load i32, ptr %37, align 4
  %39 = icmp ne i32 %38, 0
  %40 = zext i1 %39 to i32
  %41 = shl nuw i32 %40, %34
  %42 = or i32 %41, %33
  %43 = add nuw nsw i64 %32, 1
  %44 = icmp eq i64 %43, %8
  br i1 %44, label %9, label %31
}

define internal void @wl.vote_uni(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %32, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = zext i32 %2 to i64
  br label %33

9:
  %10 = and i32 %44, %3
  %11 = icmp eq i32 %10, %3
  %12 = icmp eq i32 %10, 0
  %13 = or i1 %11, %12
  %14 = zext i1 %13 to i32
  %15 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %16 = zext i32 %2 to i64
  br label %17

17:
  %18 = phi i64 [ 0, %9 ], [ %30, %28 ]
  %19 = trunc nuw i64 %18 to i32
  %20 = add i32 %1, %19
  %21 = zext i32 %20 to i64
  %22 = getelementptr inbounds nuw i32, ptr %15, i64 %21
  %23 = shl nuw i32 1, %19
  %24 = and i32 %23, %3
  %25 = icmp eq i32 %24, 0
  br i1 %25, label %26, label %28

26:
  %27 = load i32, ptr %22, align 4
  br label %28

28:
  %29 = phi i32 [ %27, %26 ], [ %14, %17 ]
  store i32 %29, ptr %22, align 4
  %30 = add nuw nsw i64 %18, 1
  %31 = icmp eq i64 %30, %16
  br i1 %31, label %32, label %17

32:
  ret void

33:
  %34 = phi i64 [ 0, %6 ], [ %45, %33 ]
  %35 = phi i32 [ 0, %6 ], [ %44, %33 ]
  %36 = trunc nuw i64 %34 to i32
  %37 = add i32 %1, %36
  %38 = zext i32 %37 to i64
  %39 = getelementptr inbounds nuw i32, ptr %7, i64 %38
  %40 = load i32, ptr %39, align 4
  %41 = icmp ne i32 %40, 0
  %42 = zext i1 %41 to i32
  %43 = shl nuw i32 %42, %36
  %44 = or i32 %43, %35
  %45 = add nuw nsw i64 %34, 1
  %46 = icmp eq i64 %45, %8
  br i1 %46, label %9, label %33
}

define internal void @wl.redux_add(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %27, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = zext i32 %2 to i64
  br label %28

9:
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %11 = zext i32 %2 to i64
  br label %12

12:
  %13 = phi i64 [ 0, %9 ], [ %25, %23 ]
  %14 = trunc nuw i64 %13 to i32
  %15 = add i32 %1, %14
  %16 = zext i32 %15 to i64
  %17 = getelementptr inbounds nuw i32, ptr %10, i64 %16
  %18 = shl nuw i32 1, %14
  %19 = and i32 %18, %3
  %20 = icmp eq i32 %19, 0
  br i1 %20, label %21, label %23

21:
  %22 = load i32, ptr %17, align 4
  br label %23

23:
  %24 = phi i32 [ %22, %21 ], [ %42, %12 ]
  store i32 %24, ptr %17, align 4
  %25 = add nuw nsw i64 %13, 1
  %26 = icmp eq i64 %25, %11
  br i1 %26, label %27, label %12

27:
  ret void

28:
  %29 = phi i64 [ 0, %6 ], [ %43, %41 ]
  %30 = phi i32 [ 0, %6 ], [ %42, %41 ]
  %31 = trunc nuw i64 %29 to i32
  %32 = shl nuw i32 1, %31
  %33 = and i32 %32, %3
  %34 = icmp eq i32 %33, 0
  br i1 %34, label %41, label %35

35:
  %36 = add i32 %1, %31
  %37 = zext i32 %36 to i64
  %38 = getelementptr inbounds nuw i32, ptr %7, i64 %37
  %39 = load i32, ptr %38, align 4
  %40 = add i32 %39, %30
  br label %41

41:
  %42 = phi i32 [ %40, %35 ], [ %30, %28 ]
  %43 = add nuw nsw i64 %29, 1
  %44 = icmp eq i64 %43, %8
  br i1 %44, label %9, label %28
}

define internal void @wl.redux_and(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %27, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = zext i32 %2 to i64
  br label %28

9:
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %11 = zext i32 %2 to i64
  br label %12

12:
  %13 = phi i64 [ 0, %9 ], [ %25, %23 ]
  %14 = trunc nuw i64 %13 to i32
  %15 = add i32 %1, %14
  %16 = zext i32 %15 to i64
  %17 = getelementptr inbounds nuw i32, ptr %10, i64 %16
  %18 = shl nuw i32 1, %14
  %19 = and i32 %18, %3
  %20 = icmp eq i32 %19, 0
  br i1 %20, label %21, label %23

21:
  %22 = load i32, ptr %17, align 4
  br label %23

23:
  %24 = phi i32 [ %22, %21 ], [ %42, %12 ]
  store i32 %24, ptr %17, align 4
  %25 = add nuw nsw i64 %13, 1
  %26 = icmp eq i64 %25, %11
  br i1 %26, label %27, label %12

27:
  ret void

28:
  %29 = phi i64 [ 0, %6 ], [ %43, %41 ]
  %30 = phi i32 [ -1, %6 ], [ %42, %41 ]
  %31 = trunc nuw i64 %29 to i32
  %32 = shl nuw i32 1, %31
  %33 = and i32 %32, %3
  %34 = icmp eq i32 %33, 0
  br i1 %34, label %41, label %35

35:
  %36 = add i32 %1, %31
  %37 = zext i32 %36 to i64
  %38 = getelementptr inbounds nuw i32, ptr %7, i64 %37
  %39 = load i32, ptr %38, align 4
  %40 = and i32 %39, %30
  br label %41

41:
  %42 = phi i32 [ %40, %35 ], [ %30, %28 ]
  %43 = add nuw nsw i64 %29, 1
  %44 = icmp eq i64 %43, %8
  br i1 %44, label %9, label %28
}

define internal void @wl.redux_or(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %27, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = zext i32 %2 to i64
  br label %28

9:
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %11 = zext i32 %2 to i64
  br label %12

12:
  %13 = phi i64 [ 0, %9 ], [ %25, %23 ]
  %14 = trunc nuw i64 %13 to i32
  %15 = add i32 %1, %14
  %16 = zext i32 %15 to i64
  %17 = getelementptr inbounds nuw i32, ptr %10, i64 %16
  %18 = shl nuw i32 1, %14
  %19 = and i32 %18, %3
  %20 = icmp eq i32 %19, 0
  br i1 %20, label %21, label %23

21:
  %22 = load i32, ptr %17, align 4
  br label %23

23:
  %24 = phi i32 [ %22, %21 ], [ %42, %12 ]
  store i32 %24, ptr %17, align 4
  %25 = add nuw nsw i64 %13, 1
  %26 = icmp eq i64 %25, %11
  br i1 %26, label %27, label %12

27:
  ret void

28:
  %29 = phi i64 [ 0, %6 ], [ %43, %41 ]
  %30 = phi i32 [ 0, %6 ], [ %42, %41 ]
  %31 = trunc nuw i64 %29 to i32
  %32 = shl nuw i32 1, %31
  %33 = and i32 %32, %3
  %34 = icmp eq i32 %33, 0
  br i1 %34, label %41, label %35

35:
  %36 = add i32 %1, %31
  %37 = zext i32 %36 to i64
  %38 = getelementptr inbounds nuw i32, ptr %7, i64 %37
  %39 = load i32, ptr %38, align 4
  %40 = or i32 %39, %30
  br label %41

41:
  %42 = phi i32 [ %40, %35 ], [ %30, %28 ]
  %43 = add nuw nsw i64 %29, 1
  %44 = icmp eq i64 %43, %8
  br i1 %44, label %9, label %28
}

define internal void @wl.redux_xor(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %27, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = zext i32 %2 to i64
  br label %28

9:
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %11 = zext i32 %2 to i64
  br label %12

12:
  %13 = phi i64 [ 0, %9 ], [ %25, %23 ]
  %14 = trunc nuw i64 %13 to i32
  %15 = add i32 %1, %14
  %16 = zext i32 %15 to i64
  %17 = getelementptr inbounds nuw i32, ptr %10, i64 %16
  %18 = shl nuw i32 1, %14
  %19 = and i32 %18, %3
  %20 = icmp eq i32 %19, 0
  br i1 %20, label %21, label %23

21:
  %22 = load i32, ptr %17, align 4
  br label %23

23:
  %24 = phi i32 [ %22, %21 ], [ %42, %12 ]
  store i32 %24, ptr %17, align 4
  %25 = add nuw nsw i64 %13, 1
  %26 = icmp eq i64 %25, %11
  br i1 %26, label %27, label %12

27:
  ret void

28:
  %29 = phi i64 [ 0, %6 ], [ %43, %41 ]
  %30 = phi i32 [ 0, %6 ], [ %42, %41 ]
  %31 = trunc nuw i64 %29 to i32
  %32 = shl nuw i32 1, %31
  %33 = and i32 %32, %3
  %34 = icmp eq i32 %33, 0
  br i1 %34, label %41, label %35

35:
  %36 = add i32 %1, %31
  %37 = zext i32 %36 to i64
  %38 = getelementptr inbounds nuw i32, ptr %7, i64 %37
  %39 = load i32, ptr %38, align 4
  %40 = xor i32 %39, %30
  br label %41

41:
  %42 = phi i32 [ %40, %35 ], [ %30, %28 ]
  %43 = add nuw nsw i64 %29, 1
  %44 = icmp eq i64 %43, %8
  br i1 %44, label %9, label %28
}

define internal void @wl.redux_umin(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %27, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = zext i32 %2 to i64
  br label %28

9:
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %11 = zext i32 %2 to i64
  br label %12

12:
  %13 = phi i64 [ 0, %9 ], [ %25, %23 ]
  %14 = trunc nuw i64 %13 to i32
  %15 = add i32 %1, %14
  %16 = zext i32 %15 to i64
  %17 = getelementptr inbounds nuw i32, ptr %10, i64 %16
  %18 = shl nuw i32 1, %14
  %19 = and i32 %18, %3
  %20 = icmp eq i32 %19, 0
  br i1 %20, label %21, label %23

21:
  %22 = load i32, ptr %17, align 4
  br label %23

23:
  %24 = phi i32 [ %22, %21 ], [ %42, %12 ]
  store i32 %24, ptr %17, align 4
  %25 = add nuw nsw i64 %13, 1
  %26 = icmp eq i64 %25, %11
  br i1 %26, label %27, label %12

27:
  ret void

28:
  %29 = phi i64 [ 0, %6 ], [ %43, %41 ]
  %30 = phi i32 [ -1, %6 ], [ %42, %41 ]
  %31 = trunc nuw i64 %29 to i32
  %32 = shl nuw i32 1, %31
  %33 = and i32 %32, %3
  %34 = icmp eq i32 %33, 0
  br i1 %34, label %41, label %35

35:
  %36 = add i32 %1, %31
  %37 = zext i32 %36 to i64
  %38 = getelementptr inbounds nuw i32, ptr %7, i64 %37
  %39 = load i32, ptr %38, align 4
  %40 = tail call i32 @llvm.umin.i32(i32 %39, i32 %30)
  br label %41

41:
  %42 = phi i32 [ %40, %35 ], [ %30, %28 ]
  %43 = add nuw nsw i64 %29, 1
  %44 = icmp eq i64 %43, %8
  br i1 %44, label %9, label %28
}

define internal void @wl.redux_umax(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %27, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = zext i32 %2 to i64
  br label %28

9:
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %11 = zext i32 %2 to i64
  br label %12

12:
  %13 = phi i64 [ 0, %9 ], [ %25, %23 ]
  %14 = trunc nuw i64 %13 to i32
  %15 = add i32 %1, %14
  %16 = zext i32 %15 to i64
  %17 = getelementptr inbounds nuw i32, ptr %10, i64 %16
  %18 = shl nuw i32 1, %14
  %19 = and i32 %18, %3
  %20 = icmp eq i32 %19, 0
  br i1 %20, label %21, label %23

21:
  %22 = load i32, ptr %17, align 4
  br label %23

23:
  %24 = phi i32 [ %22, %21 ], [ %42, %12 ]
  store i32 %24, ptr %17, align 4
  %25 = add nuw nsw i64 %13, 1
  %26 = icmp eq i64 %25, %11
  br i1 %26, label %27, label %12

27:
  ret void

28:
  %29 = phi i64 [ 0, %6 ], [ %43, %41 ]
  %30 = phi i32 [ 0, %6 ], [ %42, %41 ]
  %31 = trunc nuw i64 %29 to i32
  %32 = shl nuw i32 1, %31
  %33 = and i32 %32, %3
  %34 = icmp eq i32 %33, 0
  br i1 %34, label %41, label %35

35:
  %36 = add i32 %1, %31
  %37 = zext i32 %36 to i64
  %38 = getelementptr inbounds nuw i32, ptr %7, i64 %37
  %39 = load i32, ptr %38, align 4
  %40 = tail call i32 @llvm.umax.i32(i32 %39, i32 %30)
  br label %41

41:
  %42 = phi i32 [ %40, %35 ], [ %30, %28 ]
  %43 = add nuw nsw i64 %29, 1
  %44 = icmp eq i64 %43, %8
  br i1 %44, label %9, label %28
}

define internal void @wl.redux_smin(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %27, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = zext i32 %2 to i64
  br label %28

9:
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %11 = zext i32 %2 to i64
  br label %12

12:
  %13 = phi i64 [ 0, %9 ], [ %25, %23 ]
  %14 = trunc nuw i64 %13 to i32
  %15 = add i32 %1, %14
  %16 = zext i32 %15 to i64
  %17 = getelementptr inbounds nuw i32, ptr %10, i64 %16
  %18 = shl nuw i32 1, %14
  %19 = and i32 %18, %3
  %20 = icmp eq i32 %19, 0
  br i1 %20, label %21, label %23

21:
  %22 = load i32, ptr %17, align 4
  br label %23

23:
  %24 = phi i32 [ %22, %21 ], [ %42, %12 ]
  store i32 %24, ptr %17, align 4
  %25 = add nuw nsw i64 %13, 1
  %26 = icmp eq i64 %25, %11
  br i1 %26, label %27, label %12

27:
  ret void

28:
  %29 = phi i64 [ 0, %6 ], [ %43, %41 ]
  %30 = phi i32 [ 2147483647, %6 ], [ %42, %41 ]
  %31 = trunc nuw i64 %29 to i32
  %32 = shl nuw i32 1, %31
  %33 = and i32 %32, %3
  %34 = icmp eq i32 %33, 0
  br i1 %34, label %41, label %35

35:
  %36 = add i32 %1, %31
  %37 = zext i32 %36 to i64
  %38 = getelementptr inbounds nuw i32, ptr %7, i64 %37
  %39 = load i32, ptr %38, align 4
  %40 = tail call i32 @llvm.smin.i32(i32 %39, i32 %30)
  br label %41

41:
  %42 = phi i32 [ %40, %35 ], [ %30, %28 ]
  %43 = add nuw nsw i64 %29, 1
  %44 = icmp eq i64 %43, %8
  br i1 %44, label %9, label %28
}

define internal void @wl.redux_smax(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %27, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = zext i32 %2 to i64
  br label %28

9:
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %11 = zext i32 %2 to i64
  br label %12

12:
  %13 = phi i64 [ 0, %9 ], [ %25, %23 ]
  %14 = trunc nuw i64 %13 to i32
  %15 = add i32 %1, %14
  %16 = zext i32 %15 to i64
  %17 = getelementptr inbounds nuw i32, ptr %10, i64 %16
  %18 = shl nuw i32 1, %14
  %19 = and i32 %18, %3
  %20 = icmp eq i32 %19, 0
  br i1 %20, label %21, label %23

21:
  %22 = load i32, ptr %17, align 4
  br label %23

23:
  %24 = phi i32 [ %22, %21 ], [ %42, %12 ]
  store i32 %24, ptr %17, align 4
  %25 = add nuw nsw i64 %13, 1
  %26 = icmp eq i64 %25, %11
  br i1 %26, label %27, label %12

27:
  ret void

28:
  %29 = phi i64 [ 0, %6 ], [ %43, %41 ]
  %30 = phi i32 [ -2147483648, %6 ], [ %42, %41 ]
  %31 = trunc nuw i64 %29 to i32
  %32 = shl nuw i32 1, %31
  %33 = and i32 %32, %3
  %34 = icmp eq i32 %33, 0
  br i1 %34, label %41, label %35

35:
  %36 = add i32 %1, %31
  %37 = zext i32 %36 to i64
  %38 = getelementptr inbounds nuw i32, ptr %7, i64 %37
  %39 = load i32, ptr %38, align 4
  %40 = tail call i32 @llvm.smax.i32(i32 %39, i32 %30)
  br label %41

41:
  %42 = phi i32 [ %40, %35 ], [ %30, %28 ]
  %43 = add nuw nsw i64 %29, 1
  %44 = icmp eq i64 %43, %8
  br i1 %44, label %9, label %28
}

define internal void @wl.redux_fmin(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %30, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = zext i32 %2 to i64
  br label %31

9:
  %10 = bitcast i32 %47 to float
  %11 = fcmp uno float %10, 0.000000e+00
  %12 = select i1 %11, i32 2147483647, i32 %47
  %13 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %14 = zext i32 %2 to i64
  br label %15

15:
  %16 = phi i64 [ 0, %9 ], [ %28, %26 ]
  %17 = trunc nuw i64 %16 to i32
  %18 = add i32 %1, %17
  %19 = zext i32 %18 to i64
  %20 = getelementptr inbounds nuw i32, ptr %13, i64 %19
  %21 = shl nuw i32 1, %17
  %22 = and i32 %21, %3
  %23 = icmp eq i32 %22, 0
  br i1 %23, label %24, label %26

24:
  %25 = load i32, ptr %20, align 4
  br label %26

26:
  %27 = phi i32 [ %25, %24 ], [ %12, %15 ]
  store i32 %27, ptr %20, align 4
  %28 = add nuw nsw i64 %16, 1
  %29 = icmp eq i64 %28, %14
  br i1 %29, label %30, label %15

30:
  ret void

31:
  %32 = phi i64 [ 0, %6 ], [ %48, %46 ]
  %33 = phi i32 [ 2147483647, %6 ], [ %47, %46 ]
  %34 = trunc nuw i64 %32 to i32
  %35 = shl nuw i32 1, %34
  %36 = and i32 %35, %3
  %37 = icmp eq i32 %36, 0
  br i1 %37, label %46, label %38

38:
  %39 = add i32 %1, %34
  %40 = zext i32 %39 to i64
  %41 = getelementptr inbounds nuw i32, ptr %7, i64 %40
  %42 = load float, ptr %41, align 4
  %43 = bitcast i32 %33 to float
  %44 = tail call float @llvm.minimumnum.f32(float %43, float %42)
  %45 = bitcast float %44 to i32
  br label %46

46:
  %47 = phi i32 [ %45, %38 ], [ %33, %31 ]
  %48 = add nuw nsw i64 %32, 1
  %49 = icmp eq i64 %48, %8
  br i1 %49, label %9, label %31
}

define internal void @wl.redux_fmin_abs(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %30, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = zext i32 %2 to i64
  br label %31

9:
  %10 = bitcast i32 %48 to float
  %11 = fcmp uno float %10, 0.000000e+00
  %12 = select i1 %11, i32 2147483647, i32 %48
  %13 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %14 = zext i32 %2 to i64
  br label %15

15:
  %16 = phi i64 [ 0, %9 ], [ %28, %26 ]
  %17 = trunc nuw i64 %16 to i32
  %18 = add i32 %1, %17
  %19 = zext i32 %18 to i64
  %20 = getelementptr inbounds nuw i32, ptr %13, i64 %19
  %21 = shl nuw i32 1, %17
  %22 = and i32 %21, %3
  %23 = icmp eq i32 %22, 0
  br i1 %23, label %24, label %26

24:
  %25 = load i32, ptr %20, align 4
  br label %26

26:
  %27 = phi i32 [ %25, %24 ], [ %12, %15 ]
  store i32 %27, ptr %20, align 4
  %28 = add nuw nsw i64 %16, 1
  %29 = icmp eq i64 %28, %14
  br i1 %29, label %30, label %15

30:
  ret void

31:
  %32 = phi i64 [ 0, %6 ], [ %49, %47 ]
  %33 = phi i32 [ 2147483647, %6 ], [ %48, %47 ]
  %34 = trunc nuw i64 %32 to i32
  %35 = shl nuw i32 1, %34
  %36 = and i32 %35, %3
  %37 = icmp eq i32 %36, 0
  br i1 %37, label %47, label %38

38:
  %39 = add i32 %1, %34
  %40 = zext i32 %39 to i64
  %41 = getelementptr inbounds nuw i32, ptr %7, i64 %40
  %42 = load float, ptr %41, align 4
  %43 = bitcast i32 %33 to float
  %44 = tail call float @llvm.fabs.f32(float %42)
  %45 = tail call float @llvm.minimumnum.f32(float %43, float %44)
  %46 = bitcast float %45 to i32
  br label %47

47:
  %48 = phi i32 [ %46, %38 ], [ %33, %31 ]
  %49 = add nuw nsw i64 %32, 1
  %50 = icmp eq i64 %49, %8
  br i1 %50, label %9, label %31
}

define internal void @wl.redux_fmin_NaN(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %30, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = zext i32 %2 to i64
  br label %31

9:
  %10 = bitcast i32 %47 to float
  %11 = fcmp uno float %10, 0.000000e+00
  %12 = select i1 %11, i32 2147483647, i32 %47
  %13 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %14 = zext i32 %2 to i64
  br label %15

15:
  %16 = phi i64 [ 0, %9 ], [ %28, %26 ]
  %17 = trunc nuw i64 %16 to i32
  %18 = add i32 %1, %17
  %19 = zext i32 %18 to i64
  %20 = getelementptr inbounds nuw i32, ptr %13, i64 %19
  %21 = shl nuw i32 1, %17
  %22 = and i32 %21, %3
  %23 = icmp eq i32 %22, 0
  br i1 %23, label %24, label %26

24:
  %25 = load i32, ptr %20, align 4
  br label %26

26:
  %27 = phi i32 [ %25, %24 ], [ %12, %15 ]
  store i32 %27, ptr %20, align 4
  %28 = add nuw nsw i64 %16, 1
  %29 = icmp eq i64 %28, %14
  br i1 %29, label %30, label %15

30:
  ret void

31:
  %32 = phi i64 [ 0, %6 ], [ %48, %46 ]
  %33 = phi i32 [ 2139095040, %6 ], [ %47, %46 ]
  %34 = trunc nuw i64 %32 to i32
  %35 = shl nuw i32 1, %34
  %36 = and i32 %35, %3
  %37 = icmp eq i32 %36, 0
  br i1 %37, label %46, label %38

38:
  %39 = add i32 %1, %34
  %40 = zext i32 %39 to i64
  %41 = getelementptr inbounds nuw i32, ptr %7, i64 %40
  %42 = load float, ptr %41, align 4
  %43 = bitcast i32 %33 to float
  %44 = tail call float @llvm.minimum.f32(float %43, float %42)
  %45 = bitcast float %44 to i32
  br label %46

46:
  %47 = phi i32 [ %45, %38 ], [ %33, %31 ]
  %48 = add nuw nsw i64 %32, 1
  %49 = icmp eq i64 %48, %8
  br i1 %49, label %9, label %31
}

define internal void @wl.redux_fmin_abs_NaN(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %30, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = zext i32 %2 to i64
  br label %31

9:
  %10 = bitcast i32 %48 to float
  %11 = fcmp uno float %10, 0.000000e+00
  %12 = select i1 %11, i32 2147483647, i32 %48
  %13 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %14 = zext i32 %2 to i64
  br label %15

15:
  %16 = phi i64 [ 0, %9 ], [ %28, %26 ]
  %17 = trunc nuw i64 %16 to i32
  %18 = add i32 %1, %17
  %19 = zext i32 %18 to i64
  %20 = getelementptr inbounds nuw i32, ptr %13, i64 %19
  %21 = shl nuw i32 1, %17
  %22 = and i32 %21, %3
  %23 = icmp eq i32 %22, 0
  br i1 %23, label %24, label %26

24:
  %25 = load i32, ptr %20, align 4
  br label %26

26:
  %27 = phi i32 [ %25, %24 ], [ %12, %15 ]
  store i32 %27, ptr %20, align 4
  %28 = add nuw nsw i64 %16, 1
  %29 = icmp eq i64 %28, %14
  br i1 %29, label %30, label %15

30:
  ret void

31:
  %32 = phi i64 [ 0, %6 ], [ %49, %47 ]
  %33 = phi i32 [ 2139095040, %6 ], [ %48, %47 ]
  %34 = trunc nuw i64 %32 to i32
  %35 = shl nuw i32 1, %34
  %36 = and i32 %35, %3
  %37 = icmp eq i32 %36, 0
  br i1 %37, label %47, label %38

38:
  %39 = add i32 %1, %34
  %40 = zext i32 %39 to i64
  %41 = getelementptr inbounds nuw i32, ptr %7, i64 %40
  %42 = load float, ptr %41, align 4
  %43 = bitcast i32 %33 to float
  %44 = tail call float @llvm.fabs.f32(float %42)
  %45 = tail call float @llvm.minimum.f32(float %43, float %44)
  %46 = bitcast float %45 to i32
  br label %47

47:
  %48 = phi i32 [ %46, %38 ], [ %33, %31 ]
  %49 = add nuw nsw i64 %32, 1
  %50 = icmp eq i64 %49, %8
  br i1 %50, label %9, label %31
}

define internal void @wl.redux_fmax(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %30, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = zext i32 %2 to i64
  br label %31

9:
  %10 = bitcast i32 %47 to float
  %11 = fcmp uno float %10, 0.000000e+00
  %12 = select i1 %11, i32 2147483647, i32 %47
  %13 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %14 = zext i32 %2 to i64
  br label %15

15:
  %16 = phi i64 [ 0, %9 ], [ %28, %26 ]
  %17 = trunc nuw i64 %16 to i32
  %18 = add i32 %1, %17
  %19 = zext i32 %18 to i64
  %20 = getelementptr inbounds nuw i32, ptr %13, i64 %19
  %21 = shl nuw i32 1, %17
  %22 = and i32 %21, %3
  %23 = icmp eq i32 %22, 0
  br i1 %23, label %24, label %26

24:
  %25 = load i32, ptr %20, align 4
  br label %26

26:
  %27 = phi i32 [ %25, %24 ], [ %12, %15 ]
  store i32 %27, ptr %20, align 4
  %28 = add nuw nsw i64 %16, 1
  %29 = icmp eq i64 %28, %14
  br i1 %29, label %30, label %15

30:
  ret void

31:
  %32 = phi i64 [ 0, %6 ], [ %48, %46 ]
  %33 = phi i32 [ 2147483647, %6 ], [ %47, %46 ]
  %34 = trunc nuw i64 %32 to i32
  %35 = shl nuw i32 1, %34
  %36 = and i32 %35, %3
  %37 = icmp eq i32 %36, 0
  br i1 %37, label %46, label %38

38:
  %39 = add i32 %1, %34
  %40 = zext i32 %39 to i64
  %41 = getelementptr inbounds nuw i32, ptr %7, i64 %40
  %42 = load float, ptr %41, align 4
  %43 = bitcast i32 %33 to float
  %44 = tail call float @llvm.maximumnum.f32(float %43, float %42)
  %45 = bitcast float %44 to i32
  br label %46

46:
  %47 = phi i32 [ %45, %38 ], [ %33, %31 ]
  %48 = add nuw nsw i64 %32, 1
  %49 = icmp eq i64 %48, %8
  br i1 %49, label %9, label %31
}

define internal void @wl.redux_fmax_abs(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %30, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = zext i32 %2 to i64
  br label %31

9:
  %10 = bitcast i32 %48 to float
  %11 = fcmp uno float %10, 0.000000e+00
  %12 = select i1 %11, i32 2147483647, i32 %48
  %13 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %14 = zext i32 %2 to i64
  br label %15

15:
  %16 = phi i64 [ 0, %9 ], [ %28, %26 ]
  %17 = trunc nuw i64 %16 to i32
  %18 = add i32 %1, %17
  %19 = zext i32 %18 to i64
  %20 = getelementptr inbounds nuw i32, ptr %13, i64 %19
  %21 = shl nuw i32 1, %17
  %22 = and i32 %21, %3
  %23 = icmp eq i32 %22, 0
  br i1 %23, label %24, label %26

24:
  %25 = load i32, ptr %20, align 4
  br label %26

26:
  %27 = phi i32 [ %25, %24 ], [ %12, %15 ]
  store i32 %27, ptr %20, align 4
  %28 = add nuw nsw i64 %16, 1
  %29 = icmp eq i64 %28, %14
  br i1 %29, label %30, label %15

30:
  ret void

31:
  %32 = phi i64 [ 0, %6 ], [ %49, %47 ]
  %33 = phi i32 [ 2147483647, %6 ], [ %48, %47 ]
  %34 = trunc nuw i64 %32 to i32
  %35 = shl nuw i32 1, %34
  %36 = and i32 %35, %3
  %37 = icmp eq i32 %36, 0
  br i1 %37, label %47, label %38

38:
  %39 = add i32 %1, %34
  %40 = zext i32 %39 to i64
  %41 = getelementptr inbounds nuw i32, ptr %7, i64 %40
  %42 = load float, ptr %41, align 4
  %43 = bitcast i32 %33 to float
  %44 = tail call float @llvm.fabs.f32(float %42)
  %45 = tail call float @llvm.maximumnum.f32(float %43, float %44)
  %46 = bitcast float %45 to i32
  br label %47

47:
  %48 = phi i32 [ %46, %38 ], [ %33, %31 ]
  %49 = add nuw nsw i64 %32, 1
  %50 = icmp eq i64 %49, %8
  br i1 %50, label %9, label %31
}

define internal void @wl.redux_fmax_NaN(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %30, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = zext i32 %2 to i64
  br label %31

9:
  %10 = bitcast i32 %47 to float
  %11 = fcmp uno float %10, 0.000000e+00
  %12 = select i1 %11, i32 2147483647, i32 %47
  %13 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %14 = zext i32 %2 to i64
  br label %15

15:
  %16 = phi i64 [ 0, %9 ], [ %28, %26 ]
  %17 = trunc nuw i64 %16 to i32
  %18 = add i32 %1, %17
  %19 = zext i32 %18 to i64
  %20 = getelementptr inbounds nuw i32, ptr %13, i64 %19
  %21 = shl nuw i32 1, %17
  %22 = and i32 %21, %3
  %23 = icmp eq i32 %22, 0
  br i1 %23, label %24, label %26

24:
  %25 = load i32, ptr %20, align 4
  br label %26

26:
  %27 = phi i32 [ %25, %24 ], [ %12, %15 ]
  store i32 %27, ptr %20, align 4
  %28 = add nuw nsw i64 %16, 1
  %29 = icmp eq i64 %28, %14
  br i1 %29, label %30, label %15

30:
  ret void

31:
  %32 = phi i64 [ 0, %6 ], [ %48, %46 ]
  %33 = phi i32 [ -8388608, %6 ], [ %47, %46 ]
  %34 = trunc nuw i64 %32 to i32
  %35 = shl nuw i32 1, %34
  %36 = and i32 %35, %3
  %37 = icmp eq i32 %36, 0
  br i1 %37, label %46, label %38

38:
  %39 = add i32 %1, %34
  %40 = zext i32 %39 to i64
  %41 = getelementptr inbounds nuw i32, ptr %7, i64 %40
  %42 = load float, ptr %41, align 4
  %43 = bitcast i32 %33 to float
  %44 = tail call float @llvm.maximum.f32(float %43, float %42)
  %45 = bitcast float %44 to i32
  br label %46

46:
  %47 = phi i32 [ %45, %38 ], [ %33, %31 ]
  %48 = add nuw nsw i64 %32, 1
  %49 = icmp eq i64 %48, %8
  br i1 %49, label %9, label %31
}

define internal void @wl.redux_fmax_abs_NaN(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %30, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = zext i32 %2 to i64
  br label %31

9:
  %10 = bitcast i32 %48 to float
  %11 = fcmp uno float %10, 0.000000e+00
  %12 = select i1 %11, i32 2147483647, i32 %48
  %13 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %14 = zext i32 %2 to i64
  br label %15

15:
  %16 = phi i64 [ 0, %9 ], [ %28, %26 ]
  %17 = trunc nuw i64 %16 to i32
  %18 = add i32 %1, %17
  %19 = zext i32 %18 to i64
  %20 = getelementptr inbounds nuw i32, ptr %13, i64 %19
  %21 = shl nuw i32 1, %17
  %22 = and i32 %21, %3
  %23 = icmp eq i32 %22, 0
  br i1 %23, label %24, label %26

24:
  %25 = load i32, ptr %20, align 4
  br label %26

26:
  %27 = phi i32 [ %25, %24 ], [ %12, %15 ]
  store i32 %27, ptr %20, align 4
  %28 = add nuw nsw i64 %16, 1
  %29 = icmp eq i64 %28, %14
  br i1 %29, label %30, label %15

30:
  ret void

31:
  %32 = phi i64 [ 0, %6 ], [ %49, %47 ]
  %33 = phi i32 [ -8388608, %6 ], [ %48, %47 ]
  %34 = trunc nuw i64 %32 to i32
  %35 = shl nuw i32 1, %34
  %36 = and i32 %35, %3
  %37 = icmp eq i32 %36, 0
  br i1 %37, label %47, label %38

38:
  %39 = add i32 %1, %34
  %40 = zext i32 %39 to i64
  %41 = getelementptr inbounds nuw i32, ptr %7, i64 %40
  %42 = load float, ptr %41, align 4
  %43 = bitcast i32 %33 to float
  %44 = tail call float @llvm.fabs.f32(float %42)
  %45 = tail call float @llvm.maximum.f32(float %43, float %44)
  %46 = bitcast float %45 to i32
  br label %47

47:
  %48 = phi i32 [ %46, %38 ], [ %33, %31 ]
  %49 = add nuw nsw i64 %32, 1
  %50 = icmp eq i64 %49, %8
  br i1 %50, label %9, label %31
}

define internal void @wl.activemask(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %24, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %8 = zext i32 %2 to i64
  br label %9

9:
  %10 = phi i64 [ 0, %6 ], [ %22, %20 ]
  %11 = trunc nuw i64 %10 to i32
  %12 = add i32 %1, %11
  %13 = zext i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr %7, i64 %13
  %15 = shl nuw i32 1, %11
  %16 = and i32 %15, %3
  %17 = icmp eq i32 %16, 0
  br i1 %17, label %18, label %20

18:
  %19 = load i32, ptr %14, align 4
  br label %20

20:
  %21 = phi i32 [ %19, %18 ], [ %3, %9 ]
  store i32 %21, ptr %14, align 4
  %22 = add nuw nsw i64 %10, 1
  %23 = icmp eq i64 %22, %8
  br i1 %23, label %24, label %9

24:
  ret void
}

define internal void @wl.elect(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %3, i1 true)
  %6 = icmp eq i32 %2, 0
  br i1 %6, label %29, label %7

7:
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %9 = zext i32 %2 to i64
  br label %14

10:
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 155648
  %12 = zext nneg i32 %5 to i64
  %13 = zext i32 %2 to i64
  br label %30

14:
  %15 = phi i64 [ 0, %7 ], [ %27, %25 ]
  %16 = trunc nuw i64 %15 to i32
  %17 = add i32 %1, %16
  %18 = zext i32 %17 to i64
  %19 = getelementptr inbounds nuw i32, ptr %8, i64 %18
  %20 = shl nuw i32 1, %16
  %21 = and i32 %20, %3
  %22 = icmp eq i32 %21, 0
  br i1 %22, label %23, label %25

23:
  %24 = load i32, ptr %19, align 4
  br label %25

25:
  %26 = phi i32 [ %24, %23 ], [ %5, %14 ]
  store i32 %26, ptr %19, align 4
  %27 = add nuw nsw i64 %15, 1
  %28 = icmp eq i64 %27, %9
  br i1 %28, label %10, label %14

29:
  ret void

30:
  %31 = phi i64 [ 0, %10 ], [ %43, %42 ]
  %32 = trunc nuw i64 %31 to i32
  %33 = shl nuw i32 1, %32
  %34 = and i32 %33, %3
  %35 = icmp eq i32 %34, 0
  br i1 %35, label %42, label %36

36:
  %37 = icmp eq i64 %31, %12
  %38 = zext i1 %37 to i32
  %39 = add i32 %1, %32
  %40 = zext i32 %39 to i64
  %41 = getelementptr inbounds nuw i32, ptr %11, i64 %40
  store i32 %38, ptr %41, align 4
  br label %42

42:
  %43 = add nuw nsw i64 %31, 1
  %44 = icmp eq i64 %43, %13
  br i1 %44, label %29, label %30
}

define internal void @wl.match_any_b32(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %11, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 155648
  %10 = zext i32 %2 to i64
  br label %12

11:
  ret void

12:
  %13 = phi i64 [ 0, %6 ], [ %30, %29 ]
  %14 = trunc nuw i64 %13 to i32
  %15 = shl nuw i32 1, %14
  %16 = and i32 %15, %3
  %17 = icmp eq i32 %16, 0
  br i1 %17, label %29, label %18

18:
  %19 = add i32 %1, %14
  %20 = zext i32 %19 to i64
  %21 = getelementptr inbounds nuw i32, ptr %7, i64 %20
  %22 = load i32, ptr %21, align 4
  %23 = tail call fastcc i32 @wl.same(ptr %0, i32 0, i32 %1, i32 %2, i32 %3, i32 %22)
  %24 = and i32 %23, %3
  %25 = getelementptr inbounds nuw i32, ptr %8, i64 %20
  store i32 %24, ptr %25, align 4
  %26 = icmp eq i32 %24, %3
  %27 = zext i1 %26 to i32
  %28 = getelementptr inbounds nuw i32, ptr %9, i64 %20
  store i32 %27, ptr %28, align 4
  br label %29

29:
  %30 = add nuw nsw i64 %13, 1
  %31 = icmp eq i64 %30, %10
  br i1 %31, label %11, label %12
}

define internal fastcc i32 @wl.same(ptr readonly captures(none) %0, i32 range(i32 0, 2) %1, i32 %2, i32 %3, i32 %4, i32 %5) unnamed_addr nofree noinline norecurse nosync nounwind memory(argmem: read) {
  %7 = icmp eq i32 %3, 0
  br i1 %7, label %15, label %8

8:
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %10 = zext nneg i32 %1 to i64
  %11 = getelementptr inbounds nuw [1024 x i32], ptr %9, i64 %10
  %12 = zext i32 %3 to i64
  br label %17

13:
  %14 = and i32 %28, %4
  br label %15

15:
  %16 = phi i32 [ 0, %6 ], [ %14, %13 ]
  ret i32 %16

17:
  %18 = phi i64 [ 0, %8 ], [ %29, %17 ]
  %19 = phi i32 [ 0, %8 ], [ %28, %17 ]
  %20 = trunc nuw i64 %18 to i32
  %21 = add i32 %2, %20
  %22 = zext i32 %21 to i64
  %23 = getelementptr inbounds nuw i32, ptr %11, i64 %22
  %24 = load i32, ptr %23, align 4
  %25 = icmp eq i32 %24, %5
  %26 = shl nuw i32 1, %20
  %27 = select i1 %25, i32 %26, i32 0
  %28 = or i32 %27, %19
  %29 = add nuw nsw i64 %18, 1
  %30 = icmp eq i64 %29, %12
  br i1 %30, label %13, label %17
}

define internal void @wl.match_any_b64(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %11, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 155648
  %10 = zext i32 %2 to i64
  br label %12

11:
  ret void

12:
  %13 = phi i64 [ 0, %6 ], [ %37, %36 ]
  %14 = trunc nuw i64 %13 to i32
  %15 = shl nuw i32 1, %14
  %16 = and i32 %15, %3
  %17 = icmp eq i32 %16, 0
  br i1 %17, label %36, label %18

18:
  %19 = add i32 %1, %14
  %20 = zext i32 %19 to i64
  %21 = getelementptr inbounds nuw i32, ptr %7, i64 %20
  br label %27

22:
  %23 = getelementptr inbounds nuw i32, ptr %8, i64 %20
  store i32 %35, ptr %23, align 4
  %24 = icmp eq i32 %35, %3
  %25 = zext i1 %24 to i32
  %26 = getelementptr inbounds nuw i32, ptr %9, i64 %20
  store i32 %25, ptr %26, align 4
  br label %36

27:
  %28 = phi i1 [ true, %18 ], [ false, %27 ]
  %29 = phi i64 [ 0, %18 ], [ 1, %27 ]
  %30 = phi i32 [ %3, %18 ], [ %35, %27 ]
  %31 = getelementptr inbounds nuw [1024 x i32], ptr %21, i64 %29
  %32 = load i32, ptr %31, align 4
  %33 = trunc nuw nsw i64 %29 to i32
  %34 = tail call fastcc i32 @wl.same(ptr %0, i32 %33, i32 %1, i32 %2, i32 %3, i32 %32)
  %35 = and i32 %34, %30
  br i1 %28, label %27, label %22

36:
  %37 = add nuw nsw i64 %13, 1
  %38 = icmp eq i64 %37, %10
  br i1 %38, label %11, label %12
}

define internal void @wl.match_all_b32(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %11, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 155648
  %10 = zext i32 %2 to i64
  br label %12

11:
  ret void

12:
  %13 = phi i64 [ 0, %6 ], [ %31, %30 ]
  %14 = trunc nuw i64 %13 to i32
  %15 = shl nuw i32 1, %14
  %16 = and i32 %15, %3
  %17 = icmp eq i32 %16, 0
  br i1 %17, label %30, label %18

18:
  %19 = add i32 %1, %14
  %20 = zext i32 %19 to i64
  %21 = getelementptr inbounds nuw i32, ptr %7, i64 %20
  %22 = load i32, ptr %21, align 4
  %23 = tail call fastcc i32 @wl.same(ptr %0, i32 0, i32 %1, i32 %2, i32 %3, i32 %22)
  %24 = and i32 %23, %3
  %25 = icmp eq i32 %24, %3
  %26 = select i1 %25, i32 %24, i32 0
  %27 = getelementptr inbounds nuw i32, ptr %8, i64 %20
  store i32 %26, ptr %27, align 4
  %28 = zext i1 %25 to i32
  %29 = getelementptr inbounds nuw i32, ptr %9, i64 %20
  store i32 %28, ptr %29, align 4
  br label %30

30:
  %31 = add nuw nsw i64 %13, 1
  %32 = icmp eq i64 %31, %10
  br i1 %32, label %11, label %12
}

define internal void @wl.match_all_b64(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %11, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 155648
  %10 = zext i32 %2 to i64
  br label %12

11:
  ret void

12:
  %13 = phi i64 [ 0, %6 ], [ %38, %37 ]
  %14 = trunc nuw i64 %13 to i32
  %15 = shl nuw i32 1, %14
  %16 = and i32 %15, %3
  %17 = icmp eq i32 %16, 0
  br i1 %17, label %37, label %18

18:
  %19 = add i32 %1, %14
  %20 = zext i32 %19 to i64
  %21 = getelementptr inbounds nuw i32, ptr %7, i64 %20
  br label %28

22:
  %23 = icmp eq i32 %36, %3
  %24 = select i1 %23, i32 %36, i32 0
  %25 = getelementptr inbounds nuw i32, ptr %8, i64 %20
  store i32 %24, ptr %25, align 4
  %26 = zext i1 %23 to i32
  %27 = getelementptr inbounds nuw i32, ptr %9, i64 %20
  store i32 %26, ptr %27, align 4
  br label %37

28:
  %29 = phi i1 [ true, %18 ], [ false, %28 ]
  %30 = phi i64 [ 0, %18 ], [ 1, %28 ]
  %31 = phi i32 [ %3, %18 ], [ %36, %28 ]
  %32 = getelementptr inbounds nuw [1024 x i32], ptr %21, i64 %30
  %33 = load i32, ptr %32, align 4
  %34 = trunc nuw nsw i64 %30 to i32
  %35 = tail call fastcc i32 @wl.same(ptr %0, i32 %34, i32 %1, i32 %2, i32 %3, i32 %33)
  %36 = and i32 %35, %31
  br i1 %29, label %28, label %22

37:
  %38 = add nuw nsw i64 %13, 1
  %39 = icmp eq i64 %38, %10
  br i1 %39, label %11, label %12
}

define internal void @wl.bar_popc(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %26, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = zext i32 %2 to i64
  br label %12

9:
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %11 = zext i32 %2 to i64
  br label %27

12:
  %13 = phi i64 [ 0, %6 ], [ %24, %21 ]
  %14 = phi i32 [ 0, %6 ], [ %23, %21 ]
  %15 = getelementptr inbounds nuw i32, ptr %0, i64 %13
  %16 = load i32, ptr %15, align 4
  %17 = icmp eq i32 %16, %3
  br i1 %17, label %18, label %21

18:
  %19 = getelementptr inbounds nuw i32, ptr %7, i64 %13
  %20 = load i32, ptr %19, align 4
  br label %21

21:
  %22 = phi i32 [ %20, %18 ], [ 0, %12 ]
  %23 = add i32 %22, %14
  %24 = add nuw nsw i64 %13, 1
  %25 = icmp eq i64 %24, %8
  br i1 %25, label %9, label %12

26:
  ret void

27:
  %28 = phi i64 [ 0, %9 ], [ %35, %34 ]
  %29 = getelementptr inbounds nuw i32, ptr %0, i64 %28
  %30 = load i32, ptr %29, align 4
  %31 = icmp eq i32 %30, %3
  br i1 %31, label %32, label %34

32:
  %33 = getelementptr inbounds nuw i32, ptr %10, i64 %28
  store i32 %23, ptr %33, align 4
  br label %34

34:
  %35 = add nuw nsw i64 %28, 1
  %36 = icmp eq i64 %35, %11
  br i1 %36, label %26, label %27
}

define internal void @wl.bar_or(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %28, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = zext i32 %2 to i64
  br label %14

9:
  %10 = icmp ne i32 %25, 0
  %11 = zext i1 %10 to i32
  %12 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %13 = zext i32 %2 to i64
  br label %29

14:
  %15 = phi i64 [ 0, %6 ], [ %26, %23 ]
  %16 = phi i32 [ 0, %6 ], [ %25, %23 ]
  %17 = getelementptr inbounds nuw i32, ptr %0, i64 %15
  %18 = load i32, ptr %17, align 4
  %19 = icmp eq i32 %18, %3
  br i1 %19, label %20, label %23

20:
  %21 = getelementptr inbounds nuw i32, ptr %7, i64 %15
  %22 = load i32, ptr %21, align 4
  br label %23

23:
  %24 = phi i32 [ %22, %20 ], [ 0, %14 ]
  %25 = add i32 %24, %16
  %26 = add nuw nsw i64 %15, 1
  %27 = icmp eq i64 %26, %8
  br i1 %27, label %9, label %14

28:
  ret void

29:
  %30 = phi i64 [ 0, %9 ], [ %37, %36 ]
  %31 = getelementptr inbounds nuw i32, ptr %0, i64 %30
  %32 = load i32, ptr %31, align 4
  %33 = icmp eq i32 %32, %3
  br i1 %33, label %34, label %36

34:
  %35 = getelementptr inbounds nuw i32, ptr %12, i64 %30
  store i32 %11, ptr %35, align 4
  br label %36

36:
  %37 = add nuw nsw i64 %30, 1
  %38 = icmp eq i64 %37, %13
  br i1 %38, label %28, label %29
}

define internal void @wl.bar_and(ptr captures(none) %0, i32 %1, i32 %2, i32 %3) nofree noinline norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = icmp eq i32 %2, 0
  br i1 %5, label %31, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %8 = zext i32 %2 to i64
  br label %14

9:
  %10 = icmp eq i32 %28, %22
  %11 = zext i1 %10 to i32
  %12 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %13 = zext i32 %2 to i64
  br label %32

14:
  %15 = phi i64 [ 0, %6 ], [ %29, %26 ]
  %16 = phi i32 [ 0, %6 ], [ %28, %26 ]
  %17 = phi i32 [ 0, %6 ], [ %22, %26 ]
  %18 = getelementptr inbounds nuw i32, ptr %0, i64 %15
  %19 = load i32, ptr %18, align 4
  %20 = icmp eq i32 %19, %3
  %21 = zext i1 %20 to i32
  %22 = add i32 %17, %21
  br i1 %20, label %23, label %26

23:
  %24 = getelementptr inbounds nuw i32, ptr %7, i64 %15
  %25 = load i32, ptr %24, align 4
  br label %26

26:
  %27 = phi i32 [ %25, %23 ], [ 0, %14 ]
  %28 = add i32 %27, %16
  %29 = add nuw nsw i64 %15, 1
  %30 = icmp eq i64 %29, %8
  br i1 %30, label %9, label %14

31:
  ret void

32:
  %33 = phi i64 [ 0, %9 ], [ %40, %39 ]
  %34 = getelementptr inbounds nuw i32, ptr %0, i64 %33
  %35 = load i32, ptr %34, align 4
  %36 = icmp eq i32 %35, %3
  br i1 %36, label %37, label %39

37:
  %38 = getelementptr inbounds nuw i32, ptr %12, i64 %33
  store i32 %11, ptr %38, align 4
  br label %39

39:
  %40 = add nuw nsw i64 %33, 1
  %41 = icmp eq i64 %40, %13
  br i1 %41, label %31, label %32
}

%struct.instruction = type { i64, i64, i64, i64, i64, i64 }

define internal range(i32 0, 5) i32 @wl.run_graph(ptr readonly captures(none) %0, ptr captures(none) %1, ptr %2, i64 %3, i64 %4) nounwind {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %7 = getelementptr inbounds nuw i8, ptr %1, i64 16
  %8 = getelementptr inbounds nuw i8, ptr %1, i64 40
  %9 = getelementptr inbounds nuw i8, ptr %1, i64 24
  %10 = getelementptr inbounds nuw i8, ptr %2, i64 16
  %11 = getelementptr inbounds nuw i8, ptr %2, i64 80
  %12 = getelementptr inbounds nuw i8, ptr %2, i64 88
  %13 = getelementptr inbounds nuw i8, ptr %2, i64 64
  %14 = getelementptr inbounds nuw i8, ptr %1, i64 32
  %15 = getelementptr inbounds nuw i8, ptr %1, i64 48
  %16 = getelementptr inbounds nuw i8, ptr %1, i64 56
  br label %17

17:
  %18 = phi i64 [ %3, %5 ], [ %110, %108 ]
  %19 = getelementptr inbounds %struct.instruction, ptr %0, i64 %18
  %20 = load i64, ptr %19, align 8
  switch i64 %20, label %111 [
    i64 1, label %21
    i64 2, label %46
    i64 3, label %55
    i64 4, label %64
    i64 5, label %71
    i64 6, label %81
    i64 7, label %85
    i64 8, label %88
    i64 9, label %107
  ]

21:
  %22 = getelementptr inbounds nuw i8, ptr %19, i64 16
  %23 = load i64, ptr %22, align 8
  %24 = inttoptr i64 %23 to ptr
  %25 = getelementptr inbounds nuw i8, ptr %24, i64 96
  store i64 0, ptr %25, align 8
  store i64 0, ptr %10, align 8
  store i64 0, ptr %11, align 8
  %26 = getelementptr inbounds nuw i8, ptr %19, i64 24
  %27 = load i64, ptr %26, align 8
  store i64 %27, ptr %12, align 8
  %28 = getelementptr inbounds nuw i8, ptr %19, i64 40
  %29 = load i64, ptr %28, align 8
  store i64 %29, ptr %13, align 8
  %30 = getelementptr inbounds nuw i8, ptr %19, i64 8
  %31 = load i64, ptr %30, align 8
  %32 = inttoptr i64 %31 to ptr
  %33 = load i64, ptr %26, align 8
  %34 = inttoptr i64 %33 to ptr
  %35 = getelementptr inbounds nuw i8, ptr %19, i64 32
  %36 = load i64, ptr %35, align 8
  %37 = tail call i32 %32(ptr %24, ptr %34, ptr %2, i64 %36, i64 %36) nounwind
  %38 = load i64, ptr %14, align 8
  %39 = add nsw i64 %38, 1
  store i64 %39, ptr %14, align 8
  %40 = icmp eq i32 %37, 0
  br i1 %40, label %41, label %111

41:
  %42 = load ptr, ptr %15, align 8
  %43 = load volatile i64, ptr %42, align 8
  %44 = load i64, ptr %16, align 8
  %45 = icmp eq i64 %43, %44
  br i1 %45, label %108, label %111

46:
  %47 = getelementptr inbounds nuw i8, ptr %19, i64 8
  %48 = load i64, ptr %47, align 8
  %49 = inttoptr i64 %48 to ptr
  %50 = getelementptr inbounds nuw i8, ptr %19, i64 16
  %51 = load i64, ptr %50, align 8
  %52 = trunc i64 %51 to i8
  %53 = getelementptr inbounds nuw i8, ptr %19, i64 24
  %54 = load i64, ptr %53, align 8
  tail call void @llvm.memset.p0.i64(ptr align 1 %49, i8 %52, i64 %54, i1 false)
  br label %108

55:
  %56 = getelementptr inbounds nuw i8, ptr %19, i64 8
  %57 = load i64, ptr %56, align 8
  %58 = inttoptr i64 %57 to ptr
  %59 = getelementptr inbounds nuw i8, ptr %19, i64 16
  %60 = load i64, ptr %59, align 8
  %61 = inttoptr i64 %60 to ptr
  %62 = getelementptr inbounds nuw i8, ptr %19, i64 24
  %63 = load i64, ptr %62, align 8
  tail call void @llvm.memmove.p0.p0.i64(ptr align 1 %58, ptr align 1 %61, i64 %63, i1 false)
  br label %108

64:
  %65 = getelementptr inbounds nuw i8, ptr %19, i64 16
  %66 = load i64, ptr %65, align 8
  %67 = trunc i64 %66 to i32
  %68 = getelementptr inbounds nuw i8, ptr %19, i64 8
  %69 = load i64, ptr %68, align 8
  %70 = inttoptr i64 %69 to ptr
  store i32 %67, ptr %70, align 4
  br label %108

71:
  %72 = getelementptr inbounds nuw i8, ptr %19, i64 8
  %73 = load i64, ptr %72, align 8
  %74 = inttoptr i64 %73 to ptr
  %75 = load i32, ptr %74, align 4
  %76 = icmp eq i32 %75, 0
  br i1 %76, label %77, label %108

77:
  %78 = getelementptr inbounds nuw i8, ptr %19, i64 16
  %79 = load i64, ptr %78, align 8
  %80 = add nsw i64 %79, -1
  br label %108

81:
  %82 = getelementptr inbounds nuw i8, ptr %19, i64 8
  %83 = load i64, ptr %82, align 8
  %84 = add nsw i64 %83, -1
  br label %108

85:
  %86 = getelementptr inbounds nuw i8, ptr %19, i64 8
  %87 = load i64, ptr %86, align 8
  store i64 %87, ptr %6, align 8
  store i64 0, ptr %7, align 8
  br label %108

88:
  %89 = load i64, ptr %6, align 8
  %90 = getelementptr inbounds nuw i8, ptr %19, i64 8
  %91 = load i64, ptr %90, align 8
  %92 = icmp eq i64 %89, %91
  %93 = zext i1 %92 to i64
  %94 = load i64, ptr %7, align 8
  %95 = add nsw i64 %94, %93
  store i64 %95, ptr %7, align 8
  %96 = load ptr, ptr %8, align 8
  %97 = load volatile i64, ptr %96, align 8
  %98 = icmp eq i64 %97, 0
  br i1 %98, label %99, label %111

99:
  %100 = load i64, ptr %9, align 8
  %101 = add nsw i64 %100, -1
  store i64 %101, ptr %9, align 8
  %102 = icmp slt i64 %100, 2
  %103 = getelementptr inbounds nuw i8, ptr %19, i64 16
  %104 = load i64, ptr %103, align 8
  br i1 %102, label %111, label %105

105:
  %106 = add nsw i64 %104, -1
  br label %108

107:
  store i64 -1, ptr %6, align 8
  br label %108

108:
  %109 = phi i64 [ %18, %41 ], [ %106, %105 ], [ %18, %85 ], [ %84, %81 ], [ %80, %77 ], [ %18, %71 ], [ %18, %64 ], [ %18, %55 ], [ %18, %46 ], [ %18, %107 ]
  %110 = add nsw i64 %109, 1
  br label %17

111:
  %112 = phi i64 [ %104, %99 ], [ %18, %21 ], [ %18, %41 ], [ %18, %88 ], [ %18, %17 ]
  %113 = phi i32 [ 4, %99 ], [ 2, %21 ], [ 3, %41 ], [ 1, %88 ], [ 0, %17 ]
  store i64 %112, ptr %1, align 8
  ret i32 %113
}

define internal void @wl.gather_f32_from_f32(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %10, label %12

10:
  %11 = zext nneg i32 %4 to i64
  br label %13

12:
  ret void

13:
  %14 = phi i64 [ 0, %10 ], [ %22, %13 ]
  %15 = getelementptr inbounds nuw i32, ptr %3, i64 %14
  %16 = load i32, ptr %15, align 4
  %17 = lshr i32 %16, 1
  %18 = zext nneg i32 %17 to i64
  %19 = getelementptr inbounds nuw i8, ptr %8, i64 %18
  %20 = load float, ptr %19, align 4
  %21 = getelementptr inbounds nuw float, ptr %0, i64 %14
  store float %20, ptr %21, align 4
  %22 = add nuw nsw i64 %14, 1
  %23 = icmp eq i64 %22, %11
  br i1 %23, label %12, label %13
}

define internal void @wl.gather_f32_from_tf32(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %10, label %12

10:
  %11 = zext nneg i32 %4 to i64
  br label %13

12:
  ret void

13:
  %14 = phi i64 [ 0, %10 ], [ %23, %13 ]
  %15 = getelementptr inbounds nuw i32, ptr %3, i64 %14
  %16 = load i32, ptr %15, align 4
  %17 = lshr i32 %16, 1
  %18 = zext nneg i32 %17 to i64
  %19 = getelementptr inbounds nuw i8, ptr %8, i64 %18
  %20 = load i32, ptr %19, align 4
  %21 = and i32 %20, -8192
  %22 = getelementptr inbounds nuw float, ptr %0, i64 %14
  store i32 %21, ptr %22, align 4
  %23 = add nuw nsw i64 %14, 1
  %24 = icmp eq i64 %23, %11
  br i1 %24, label %12, label %13
}

define internal void @wl.gather_f32_from_bf16(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %10, label %12

10:
  %11 = zext nneg i32 %4 to i64
  br label %13

12:
  ret void

13:
  %14 = phi i64 [ 0, %10 ], [ %24, %13 ]
  %15 = getelementptr inbounds nuw i32, ptr %3, i64 %14
  %16 = load i32, ptr %15, align 4
  %17 = lshr i32 %16, 1
  %18 = zext nneg i32 %17 to i64
  %19 = getelementptr inbounds nuw i8, ptr %8, i64 %18
  %20 = load i16, ptr %19, align 2
  %21 = zext i16 %20 to i32
  %22 = shl nuw i32 %21, 16
  %23 = getelementptr inbounds nuw float, ptr %0, i64 %14
  store i32 %22, ptr %23, align 4
  %24 = add nuw nsw i64 %14, 1
  %25 = icmp eq i64 %24, %11
  br i1 %25, label %12, label %13
}

define internal void @wl.gather_f32_from_f16(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %10, label %12

10:
  %11 = zext nneg i32 %4 to i64
  br label %13

12:
  ret void

13:
  %14 = phi i64 [ 0, %10 ], [ %23, %13 ]
  %15 = getelementptr inbounds nuw i32, ptr %3, i64 %14
  %16 = load i32, ptr %15, align 4
  %17 = lshr i32 %16, 1
  %18 = zext nneg i32 %17 to i64
  %19 = getelementptr inbounds nuw i8, ptr %8, i64 %18
  %20 = load half, ptr %19, align 2
  %21 = fpext half %20 to float
  %22 = getelementptr inbounds nuw float, ptr %0, i64 %14
  store float %21, ptr %22, align 4
  %23 = add nuw nsw i64 %14, 1
  %24 = icmp eq i64 %23, %11
  br i1 %24, label %12, label %13
}

define internal void @wl.gather_f32_from_e5m2(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %10, label %12

10:
  %11 = zext nneg i32 %4 to i64
  br label %13

12:
  ret void

13:
  %14 = phi i64 [ 0, %10 ], [ %26, %13 ]
  %15 = getelementptr inbounds nuw i32, ptr %3, i64 %14
  %16 = load i32, ptr %15, align 4
  %17 = lshr i32 %16, 1
  %18 = zext nneg i32 %17 to i64
  %19 = getelementptr inbounds nuw i8, ptr %8, i64 %18
  %20 = load i8, ptr %19, align 1
  %21 = zext i8 %20 to i16
  %22 = shl nuw i16 %21, 8
  %23 = bitcast i16 %22 to half
  %24 = fpext half %23 to float
  %25 = getelementptr inbounds nuw float, ptr %0, i64 %14
  store float %24, ptr %25, align 4
  %26 = add nuw nsw i64 %14, 1
  %27 = icmp eq i64 %26, %11
  br i1 %27, label %12, label %13
}

define internal void @wl.gather_f32_from_e4m3(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %10, label %12

10:
  %11 = zext nneg i32 %4 to i64
  br label %13

12:
  ret void

13:
  %14 = phi i64 [ 0, %10 ], [ %33, %13 ]
  %15 = getelementptr inbounds nuw i32, ptr %3, i64 %14
  %16 = load i32, ptr %15, align 4
  %17 = lshr i32 %16, 1
  %18 = zext nneg i32 %17 to i64
  %19 = getelementptr inbounds nuw i8, ptr %8, i64 %18
  %20 = load i8, ptr %19, align 1
  %21 = sext i8 %20 to i16
  %22 = and i16 %21, -32768
  %23 = and i8 %20, 127
  %24 = zext nneg i8 %23 to i16
  %25 = shl nuw nsw i16 %24, 7
  %26 = or disjoint i16 %25, %22
  %27 = bitcast i16 %26 to half
  %28 = fpext half %27 to float
  %29 = icmp eq i8 %23, 127
  %30 = fmul float %28, 2.560000e+02
  %31 = select i1 %29, float 0x7FF8000000000000, float %30
  %32 = getelementptr inbounds nuw float, ptr %0, i64 %14
  store float %31, ptr %32, align 4
  %33 = add nuw nsw i64 %14, 1
  %34 = icmp eq i64 %33, %11
  br i1 %34, label %12, label %13
}

define internal void @wl.gather_f64_from_f64(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %10, label %12

10:
  %11 = zext nneg i32 %4 to i64
  br label %13

12:
  ret void

13:
  %14 = phi i64 [ 0, %10 ], [ %28, %13 ]
  %15 = getelementptr inbounds nuw i32, ptr %3, i64 %14
  %16 = load i32, ptr %15, align 4
  %17 = lshr i32 %16, 1
  %18 = zext nneg i32 %17 to i64
  %19 = getelementptr inbounds nuw i8, ptr %8, i64 %18
  %20 = getelementptr inbounds nuw i8, ptr %19, i64 4096
  %21 = load i32, ptr %20, align 4
  %22 = zext i32 %21 to i64
  %23 = shl nuw i64 %22, 32
  %24 = load i32, ptr %19, align 4
  %25 = zext i32 %24 to i64
  %26 = or disjoint i64 %23, %25
  %27 = getelementptr inbounds nuw double, ptr %0, i64 %14
  store i64 %26, ptr %27, align 8
  %28 = add nuw nsw i64 %14, 1
  %29 = icmp eq i64 %28, %11
  br i1 %29, label %12, label %13
}

define internal void @wl.gather_i32_from_s32(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %10, label %12

10:
  %11 = zext nneg i32 %4 to i64
  br label %13

12:
  ret void

13:
  %14 = phi i64 [ 0, %10 ], [ %22, %13 ]
  %15 = getelementptr inbounds nuw i32, ptr %3, i64 %14
  %16 = load i32, ptr %15, align 4
  %17 = lshr i32 %16, 1
  %18 = zext nneg i32 %17 to i64
  %19 = getelementptr inbounds nuw i8, ptr %8, i64 %18
  %20 = load i32, ptr %19, align 4
  %21 = getelementptr inbounds nuw i32, ptr %0, i64 %14
  store i32 %20, ptr %21, align 4
  %22 = add nuw nsw i64 %14, 1
  %23 = icmp eq i64 %22, %11
  br i1 %23, label %12, label %13
}

define internal void @wl.gather_i32_from_s8(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %10, label %12

10:
  %11 = zext nneg i32 %4 to i64
  br label %13

12:
  ret void

13:
  %14 = phi i64 [ 0, %10 ], [ %23, %13 ]
  %15 = getelementptr inbounds nuw i32, ptr %3, i64 %14
  %16 = load i32, ptr %15, align 4
  %17 = lshr i32 %16, 1
  %18 = zext nneg i32 %17 to i64
  %19 = getelementptr inbounds nuw i8, ptr %8, i64 %18
  %20 = load i8, ptr %19, align 1
  %21 = sext i8 %20 to i32
  %22 = getelementptr inbounds nuw i32, ptr %0, i64 %14
  store i32 %21, ptr %22, align 4
  %23 = add nuw nsw i64 %14, 1
  %24 = icmp eq i64 %23, %11
  br i1 %24, label %12, label %13
}

define internal void @wl.gather_i32_from_u8(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %10, label %12

10:
  %11 = zext nneg i32 %4 to i64
  br label %13

12:
  ret void

13:
  %14 = phi i64 [ 0, %10 ], [ %23, %13 ]
  %15 = getelementptr inbounds nuw i32, ptr %3, i64 %14
  %16 = load i32, ptr %15, align 4
  %17 = lshr i32 %16, 1
  %18 = zext nneg i32 %17 to i64
  %19 = getelementptr inbounds nuw i8, ptr %8, i64 %18
  %20 = load i8, ptr %19, align 1
  %21 = zext i8 %20 to i32
  %22 = getelementptr inbounds nuw i32, ptr %0, i64 %14
  store i32 %21, ptr %22, align 4
  %23 = add nuw nsw i64 %14, 1
  %24 = icmp eq i64 %23, %11
  br i1 %24, label %12, label %13
}

define internal void @wl.gather_i32_from_s4(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %10, label %12

10:
  %11 = zext nneg i32 %4 to i64
  br label %13

12:
  ret void

13:
  %14 = phi i64 [ 0, %10 ], [ %28, %13 ]
  %15 = getelementptr inbounds nuw i32, ptr %3, i64 %14
  %16 = load i32, ptr %15, align 4
  %17 = lshr i32 %16, 1
  %18 = zext nneg i32 %17 to i64
  %19 = getelementptr inbounds nuw i8, ptr %8, i64 %18
  %20 = load i8, ptr %19, align 1
  %21 = zext i8 %20 to i32
  %22 = shl i32 %16, 2
  %23 = and i32 %22, 4
  %24 = lshr i32 %21, %23
  %25 = shl i32 %24, 28
  %26 = ashr exact i32 %25, 28
  %27 = getelementptr inbounds nuw i32, ptr %0, i64 %14
  store i32 %26, ptr %27, align 4
  %28 = add nuw nsw i64 %14, 1
  %29 = icmp eq i64 %28, %11
  br i1 %29, label %12, label %13
}

define internal void @wl.gather_i32_from_u4(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %10, label %12

10:
  %11 = zext nneg i32 %4 to i64
  br label %13

12:
  ret void

13:
  %14 = phi i64 [ 0, %10 ], [ %27, %13 ]
  %15 = getelementptr inbounds nuw i32, ptr %3, i64 %14
  %16 = load i32, ptr %15, align 4
  %17 = lshr i32 %16, 1
  %18 = zext nneg i32 %17 to i64
  %19 = getelementptr inbounds nuw i8, ptr %8, i64 %18
  %20 = load i8, ptr %19, align 1
  %21 = zext i8 %20 to i32
  %22 = shl i32 %16, 2
  %23 = and i32 %22, 4
  %24 = lshr i32 %21, %23
  %25 = and i32 %24, 15
  %26 = getelementptr inbounds nuw i32, ptr %0, i64 %14
  store i32 %25, ptr %26, align 4
  %27 = add nuw nsw i64 %14, 1
  %28 = icmp eq i64 %27, %11
  br i1 %28, label %12, label %13
}

define internal void @wl.gather_i64_from_s32(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %10, label %12

10:
  %11 = zext nneg i32 %4 to i64
  br label %13

12:
  ret void

13:
  %14 = phi i64 [ 0, %10 ], [ %23, %13 ]
  %15 = getelementptr inbounds nuw i32, ptr %3, i64 %14
  %16 = load i32, ptr %15, align 4
  %17 = lshr i32 %16, 1
  %18 = zext nneg i32 %17 to i64
  %19 = getelementptr inbounds nuw i8, ptr %8, i64 %18
  %20 = load i32, ptr %19, align 4
  %21 = sext i32 %20 to i64
  %22 = getelementptr inbounds nuw i64, ptr %0, i64 %14
  store i64 %21, ptr %22, align 8
  %23 = add nuw nsw i64 %14, 1
  %24 = icmp eq i64 %23, %11
  br i1 %24, label %12, label %13
}

define internal void @wl.gather_i64_from_s8(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %10, label %12

10:
  %11 = zext nneg i32 %4 to i64
  br label %13

12:
  ret void

13:
  %14 = phi i64 [ 0, %10 ], [ %23, %13 ]
  %15 = getelementptr inbounds nuw i32, ptr %3, i64 %14
  %16 = load i32, ptr %15, align 4
  %17 = lshr i32 %16, 1
  %18 = zext nneg i32 %17 to i64
  %19 = getelementptr inbounds nuw i8, ptr %8, i64 %18
  %20 = load i8, ptr %19, align 1
  %21 = sext i8 %20 to i64
  %22 = getelementptr inbounds nuw i64, ptr %0, i64 %14
  store i64 %21, ptr %22, align 8
  %23 = add nuw nsw i64 %14, 1
  %24 = icmp eq i64 %23, %11
  br i1 %24, label %12, label %13
}

define internal void @wl.gather_i64_from_u8(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %10, label %12

10:
  %11 = zext nneg i32 %4 to i64
  br label %13

12:
  ret void

13:
  %14 = phi i64 [ 0, %10 ], [ %23, %13 ]
  %15 = getelementptr inbounds nuw i32, ptr %3, i64 %14
  %16 = load i32, ptr %15, align 4
  %17 = lshr i32 %16, 1
  %18 = zext nneg i32 %17 to i64
  %19 = getelementptr inbounds nuw i8, ptr %8, i64 %18
  %20 = load i8, ptr %19, align 1
  %21 = zext i8 %20 to i64
  %22 = getelementptr inbounds nuw i64, ptr %0, i64 %14
  store i64 %21, ptr %22, align 8
  %23 = add nuw nsw i64 %14, 1
  %24 = icmp eq i64 %23, %11
  br i1 %24, label %12, label %13
}

define internal void @wl.gather_i64_from_s4(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %10, label %12

10:
  %11 = zext nneg i32 %4 to i64
  br label %13

12:
  ret void

13:
  %14 = phi i64 [ 0, %10 ], [ %29, %13 ]
  %15 = getelementptr inbounds nuw i32, ptr %3, i64 %14
  %16 = load i32, ptr %15, align 4
  %17 = lshr i32 %16, 1
  %18 = zext nneg i32 %17 to i64
  %19 = getelementptr inbounds nuw i8, ptr %8, i64 %18
  %20 = load i8, ptr %19, align 1
  %21 = zext i8 %20 to i32
  %22 = shl i32 %16, 2
  %23 = and i32 %22, 4
  %24 = lshr i32 %21, %23
  %25 = shl i32 %24, 28
  %26 = ashr exact i32 %25, 28
  %27 = sext i32 %26 to i64
  %28 = getelementptr inbounds nuw i64, ptr %0, i64 %14
  store i64 %27, ptr %28, align 8
  %29 = add nuw nsw i64 %14, 1
  %30 = icmp eq i64 %29, %11
  br i1 %30, label %12, label %13
}

define internal void @wl.gather_i64_from_u4(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %10, label %12

10:
  %11 = zext nneg i32 %4 to i64
  br label %13

12:
  ret void

13:
  %14 = phi i64 [ 0, %10 ], [ %28, %13 ]
  %15 = getelementptr inbounds nuw i32, ptr %3, i64 %14
  %16 = load i32, ptr %15, align 4
  %17 = lshr i32 %16, 1
  %18 = zext nneg i32 %17 to i64
  %19 = getelementptr inbounds nuw i8, ptr %8, i64 %18
  %20 = load i8, ptr %19, align 1
  %21 = zext i8 %20 to i32
  %22 = shl i32 %16, 2
  %23 = and i32 %22, 4
  %24 = lshr i32 %21, %23
  %25 = and i32 %24, 15
  %26 = zext nneg i32 %25 to i64
  %27 = getelementptr inbounds nuw i64, ptr %0, i64 %14
  store i64 %26, ptr %27, align 8
  %28 = add nuw nsw i64 %14, 1
  %29 = icmp eq i64 %28, %11
  br i1 %29, label %12, label %13
}

define internal void @wl.gather_i32_from_b1(ptr writeonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %10, label %12

10:
  %11 = zext nneg i32 %4 to i64
  br label %13

12:
  ret void

13:
  %14 = phi i64 [ 0, %10 ], [ %22, %13 ]
  %15 = getelementptr inbounds nuw i32, ptr %3, i64 %14
  %16 = load i32, ptr %15, align 4
  %17 = lshr i32 %16, 1
  %18 = zext nneg i32 %17 to i64
  %19 = getelementptr inbounds nuw i8, ptr %8, i64 %18
  %20 = load i32, ptr %19, align 4
  %21 = getelementptr inbounds nuw i32, ptr %0, i64 %14
  store i32 %20, ptr %21, align 4
  %22 = add nuw nsw i64 %14, 1
  %23 = icmp eq i64 %22, %11
  br i1 %23, label %12, label %13
}

define internal void @wl.product_f32_8(ptr captures(none) %0, ptr readonly captures(none) %1, ptr readonly captures(none) %2, i32 %3, i32 %4, i32 %5) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %7 = icmp sgt i32 %3, 0
  br i1 %7, label %8, label %14

8:
  %9 = shl i32 %4, 3
  %10 = icmp sgt i32 %4, 0
  %11 = sext i32 %4 to i64
  %12 = zext nneg i32 %3 to i64
  %13 = zext nneg i32 %4 to i64
  br label %15

14:
  ret void

15:
  %16 = phi i64 [ 0, %8 ], [ %29, %27 ]
  %17 = mul nsw i64 %16, %11
  %18 = getelementptr inbounds float, ptr %1, i64 %17
  %19 = trunc nuw nsw i64 %16 to i32
  %20 = sdiv i32 %19, %5
  %21 = mul i32 %9, %20
  %22 = sext i32 %21 to i64
  %23 = getelementptr inbounds float, ptr %2, i64 %22
  %24 = shl nsw i64 %16, 5
  %25 = getelementptr inbounds nuw i8, ptr %0, i64 %24
  %26 = load <8 x float>, ptr %25, align 4
  br i1 %10, label %31, label %27

27:
  %28 = phi <8 x float> [ %26, %15 ], [ %42, %31 ]
  store <8 x float> %28, ptr %25, align 4
  %29 = add nuw nsw i64 %16, 1
  %30 = icmp eq i64 %29, %12
  br i1 %30, label %14, label %15

31:
  %32 = phi i64 [ %43, %31 ], [ 0, %15 ]
  %33 = phi <8 x float> [ %42, %31 ], [ %26, %15 ]
  %34 = getelementptr inbounds nuw float, ptr %18, i64 %32
  %35 = load float, ptr %34, align 4
  %36 = insertelement <8 x float> poison, float %35, i64 0
  %37 = shufflevector <8 x float> %36, <8 x float> poison, <8 x i32> zeroinitializer
  %38 = shl nsw i64 %32, 5
  %39 = getelementptr inbounds nuw i8, ptr %23, i64 %38
  %40 = load <8 x float>, ptr %39, align 4
  %41 = fmul <8 x float> %40, %37
  %42 = fadd <8 x float> %33, %41
  %43 = add nuw nsw i64 %32, 1
  %44 = icmp eq i64 %43, %13
  br i1 %44, label %27, label %31
}

define internal void @wl.product_f32_16(ptr captures(none) %0, ptr readonly captures(none) %1, ptr readonly captures(none) %2, i32 %3, i32 %4, i32 %5) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %7 = icmp sgt i32 %3, 0
  br i1 %7, label %8, label %14

8:
  %9 = shl i32 %4, 4
  %10 = icmp sgt i32 %4, 0
  %11 = sext i32 %4 to i64
  %12 = zext nneg i32 %3 to i64
  %13 = zext nneg i32 %4 to i64
  br label %15

14:
  ret void

15:
  %16 = phi i64 [ 0, %8 ], [ %29, %27 ]
  %17 = mul nsw i64 %16, %11
  %18 = getelementptr inbounds float, ptr %1, i64 %17
  %19 = trunc nuw nsw i64 %16 to i32
  %20 = sdiv i32 %19, %5
  %21 = mul i32 %9, %20
  %22 = sext i32 %21 to i64
  %23 = getelementptr inbounds float, ptr %2, i64 %22
  %24 = shl nsw i64 %16, 6
  %25 = getelementptr inbounds nuw i8, ptr %0, i64 %24
  %26 = load <16 x float>, ptr %25, align 4
  br i1 %10, label %31, label %27

27:
  %28 = phi <16 x float> [ %26, %15 ], [ %42, %31 ]
  store <16 x float> %28, ptr %25, align 4
  %29 = add nuw nsw i64 %16, 1
  %30 = icmp eq i64 %29, %12
  br i1 %30, label %14, label %15

31:
  %32 = phi i64 [ %43, %31 ], [ 0, %15 ]
  %33 = phi <16 x float> [ %42, %31 ], [ %26, %15 ]
  %34 = getelementptr inbounds nuw float, ptr %18, i64 %32
  %35 = load float, ptr %34, align 4
  %36 = insertelement <16 x float> poison, float %35, i64 0
  %37 = shufflevector <16 x float> %36, <16 x float> poison, <16 x i32> zeroinitializer
  %38 = shl nsw i64 %32, 6
  %39 = getelementptr inbounds nuw i8, ptr %23, i64 %38
  %40 = load <16 x float>, ptr %39, align 4
  %41 = fmul <16 x float> %40, %37
  %42 = fadd <16 x float> %33, %41
  %43 = add nuw nsw i64 %32, 1
  %44 = icmp eq i64 %43, %13
  br i1 %44, label %27, label %31
}

define internal void @wl.product_f32_32(ptr captures(none) %0, ptr readonly captures(none) %1, ptr readonly captures(none) %2, i32 %3, i32 %4, i32 %5) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %7 = icmp sgt i32 %3, 0
  br i1 %7, label %8, label %14

8:
  %9 = shl i32 %4, 5
  %10 = icmp sgt i32 %4, 0
  %11 = sext i32 %4 to i64
  %12 = zext nneg i32 %3 to i64
  %13 = zext nneg i32 %4 to i64
  br label %15

14:
  ret void

15:
  %16 = phi i64 [ 0, %8 ], [ %29, %27 ]
  %17 = mul nsw i64 %16, %11
  %18 = getelementptr inbounds float, ptr %1, i64 %17
  %19 = trunc nuw nsw i64 %16 to i32
  %20 = sdiv i32 %19, %5
  %21 = mul i32 %9, %20
  %22 = sext i32 %21 to i64
  %23 = getelementptr inbounds float, ptr %2, i64 %22
  %24 = shl nsw i64 %16, 7
  %25 = getelementptr inbounds nuw i8, ptr %0, i64 %24
  %26 = load <32 x float>, ptr %25, align 4
  br i1 %10, label %31, label %27

27:
  %28 = phi <32 x float> [ %26, %15 ], [ %42, %31 ]
  store <32 x float> %28, ptr %25, align 4
  %29 = add nuw nsw i64 %16, 1
  %30 = icmp eq i64 %29, %12
  br i1 %30, label %14, label %15

31:
  %32 = phi i64 [ %43, %31 ], [ 0, %15 ]
  %33 = phi <32 x float> [ %42, %31 ], [ %26, %15 ]
  %34 = getelementptr inbounds nuw float, ptr %18, i64 %32
  %35 = load float, ptr %34, align 4
  %36 = insertelement <32 x float> poison, float %35, i64 0
  %37 = shufflevector <32 x float> %36, <32 x float> poison, <32 x i32> zeroinitializer
  %38 = shl nsw i64 %32, 7
  %39 = getelementptr inbounds nuw i8, ptr %23, i64 %38
  %40 = load <32 x float>, ptr %39, align 4
  %41 = fmul <32 x float> %40, %37
  %42 = fadd <32 x float> %33, %41
  %43 = add nuw nsw i64 %32, 1
  %44 = icmp eq i64 %43, %13
  br i1 %44, label %27, label %31
}

define internal void @wl.product_i32_8(ptr captures(none) %0, ptr readonly captures(none) %1, ptr readonly captures(none) %2, i32 %3, i32 %4, i32 %5) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %7 = icmp sgt i32 %3, 0
  br i1 %7, label %8, label %14

8:
  %9 = shl i32 %4, 3
  %10 = icmp sgt i32 %4, 0
  %11 = sext i32 %4 to i64
  %12 = zext nneg i32 %3 to i64
  %13 = zext nneg i32 %4 to i64
  br label %15

14:
  ret void

15:
  %16 = phi i64 [ 0, %8 ], [ %29, %27 ]
  %17 = mul nsw i64 %16, %11
  %18 = getelementptr inbounds i32, ptr %1, i64 %17
  %19 = trunc nuw nsw i64 %16 to i32
  %20 = sdiv i32 %19, %5
  %21 = mul i32 %9, %20
  %22 = sext i32 %21 to i64
  %23 = getelementptr inbounds i32, ptr %2, i64 %22
  %24 = shl nsw i64 %16, 5
  %25 = getelementptr inbounds nuw i8, ptr %0, i64 %24
  %26 = load <8 x i32>, ptr %25, align 4
  br i1 %10, label %31, label %27

27:
  %28 = phi <8 x i32> [ %26, %15 ], [ %42, %31 ]
  store <8 x i32> %28, ptr %25, align 4
  %29 = add nuw nsw i64 %16, 1
  %30 = icmp eq i64 %29, %12
  br i1 %30, label %14, label %15

31:
  %32 = phi i64 [ %43, %31 ], [ 0, %15 ]
  %33 = phi <8 x i32> [ %42, %31 ], [ %26, %15 ]
  %34 = getelementptr inbounds nuw i32, ptr %18, i64 %32
  %35 = load i32, ptr %34, align 4
  %36 = insertelement <8 x i32> poison, i32 %35, i64 0
  %37 = shufflevector <8 x i32> %36, <8 x i32> poison, <8 x i32> zeroinitializer
  %38 = shl nsw i64 %32, 5
  %39 = getelementptr inbounds nuw i8, ptr %23, i64 %38
  %40 = load <8 x i32>, ptr %39, align 4
  %41 = mul <8 x i32> %37, %40
  %42 = add <8 x i32> %41, %33
  %43 = add nuw nsw i64 %32, 1
  %44 = icmp eq i64 %43, %13
  br i1 %44, label %27, label %31
}

define internal void @wl.product_i32_16(ptr captures(none) %0, ptr readonly captures(none) %1, ptr readonly captures(none) %2, i32 %3, i32 %4, i32 %5) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %7 = icmp sgt i32 %3, 0
  br i1 %7, label %8, label %14

8:
  %9 = shl i32 %4, 4
  %10 = icmp sgt i32 %4, 0
  %11 = sext i32 %4 to i64
  %12 = zext nneg i32 %3 to i64
  %13 = zext nneg i32 %4 to i64
  br label %15

14:
  ret void

15:
  %16 = phi i64 [ 0, %8 ], [ %29, %27 ]
  %17 = mul nsw i64 %16, %11
  %18 = getelementptr inbounds i32, ptr %1, i64 %17
  %19 = trunc nuw nsw i64 %16 to i32
  %20 = sdiv i32 %19, %5
  %21 = mul i32 %9, %20
  %22 = sext i32 %21 to i64
  %23 = getelementptr inbounds i32, ptr %2, i64 %22
  %24 = shl nsw i64 %16, 6
  %25 = getelementptr inbounds nuw i8, ptr %0, i64 %24
  %26 = load <16 x i32>, ptr %25, align 4
  br i1 %10, label %31, label %27

27:
  %28 = phi <16 x i32> [ %26, %15 ], [ %42, %31 ]
  store <16 x i32> %28, ptr %25, align 4
  %29 = add nuw nsw i64 %16, 1
  %30 = icmp eq i64 %29, %12
  br i1 %30, label %14, label %15

31:
  %32 = phi i64 [ %43, %31 ], [ 0, %15 ]
  %33 = phi <16 x i32> [ %42, %31 ], [ %26, %15 ]
  %34 = getelementptr inbounds nuw i32, ptr %18, i64 %32
  %35 = load i32, ptr %34, align 4
  %36 = insertelement <16 x i32> poison, i32 %35, i64 0
  %37 = shufflevector <16 x i32> %36, <16 x i32> poison, <16 x i32> zeroinitializer
  %38 = shl nsw i64 %32, 6
  %39 = getelementptr inbounds nuw i8, ptr %23, i64 %38
  %40 = load <16 x i32>, ptr %39, align 4
  %41 = mul <16 x i32> %37, %40
  %42 = add <16 x i32> %41, %33
  %43 = add nuw nsw i64 %32, 1
  %44 = icmp eq i64 %43, %13
  br i1 %44, label %27, label %31
}

define internal void @wl.product_i32_32(ptr captures(none) %0, ptr readonly captures(none) %1, ptr readonly captures(none) %2, i32 %3, i32 %4, i32 %5) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %7 = icmp sgt i32 %3, 0
  br i1 %7, label %8, label %14

8:
  %9 = shl i32 %4, 5
  %10 = icmp sgt i32 %4, 0
  %11 = sext i32 %4 to i64
  %12 = zext nneg i32 %3 to i64
  %13 = zext nneg i32 %4 to i64
  br label %15

14:
  ret void

15:
  %16 = phi i64 [ 0, %8 ], [ %29, %27 ]
  %17 = mul nsw i64 %16, %11
  %18 = getelementptr inbounds i32, ptr %1, i64 %17
  %19 = trunc nuw nsw i64 %16 to i32
  %20 = sdiv i32 %19, %5
  %21 = mul i32 %9, %20
  %22 = sext i32 %21 to i64
  %23 = getelementptr inbounds i32, ptr %2, i64 %22
  %24 = shl nsw i64 %16, 7
  %25 = getelementptr inbounds nuw i8, ptr %0, i64 %24
  %26 = load <32 x i32>, ptr %25, align 4
  br i1 %10, label %31, label %27

27:
  %28 = phi <32 x i32> [ %26, %15 ], [ %42, %31 ]
  store <32 x i32> %28, ptr %25, align 4
  %29 = add nuw nsw i64 %16, 1
  %30 = icmp eq i64 %29, %12
  br i1 %30, label %14, label %15

31:
  %32 = phi i64 [ %43, %31 ], [ 0, %15 ]
  %33 = phi <32 x i32> [ %42, %31 ], [ %26, %15 ]
  %34 = getelementptr inbounds nuw i32, ptr %18, i64 %32
  %35 = load i32, ptr %34, align 4
  %36 = insertelement <32 x i32> poison, i32 %35, i64 0
  %37 = shufflevector <32 x i32> %36, <32 x i32> poison, <32 x i32> zeroinitializer
  %38 = shl nsw i64 %32, 7
  %39 = getelementptr inbounds nuw i8, ptr %23, i64 %38
  %40 = load <32 x i32>, ptr %39, align 4
  %41 = mul <32 x i32> %37, %40
  %42 = add <32 x i32> %41, %33
  %43 = add nuw nsw i64 %32, 1
  %44 = icmp eq i64 %43, %13
  br i1 %44, label %27, label %31
}

define internal void @wl.product_i64_8(ptr captures(none) %0, ptr readonly captures(none) %1, ptr readonly captures(none) %2, i32 %3, i32 %4, i32 %5) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %7 = icmp sgt i32 %3, 0
  br i1 %7, label %8, label %14

8:
  %9 = shl i32 %4, 3
  %10 = icmp sgt i32 %4, 0
  %11 = sext i32 %4 to i64
  %12 = zext nneg i32 %3 to i64
  %13 = zext nneg i32 %4 to i64
  br label %15

14:
  ret void

15:
  %16 = phi i64 [ 0, %8 ], [ %29, %27 ]
  %17 = mul nsw i64 %16, %11
  %18 = getelementptr inbounds i64, ptr %1, i64 %17
  %19 = trunc nuw nsw i64 %16 to i32
  %20 = sdiv i32 %19, %5
  %21 = mul i32 %9, %20
  %22 = sext i32 %21 to i64
  %23 = getelementptr inbounds i64, ptr %2, i64 %22
  %24 = shl nsw i64 %16, 6
  %25 = getelementptr inbounds nuw i8, ptr %0, i64 %24
  %26 = load <8 x i64>, ptr %25, align 4
  br i1 %10, label %31, label %27

27:
  %28 = phi <8 x i64> [ %26, %15 ], [ %42, %31 ]
  store <8 x i64> %28, ptr %25, align 4
  %29 = add nuw nsw i64 %16, 1
  %30 = icmp eq i64 %29, %12
  br i1 %30, label %14, label %15

31:
  %32 = phi i64 [ %43, %31 ], [ 0, %15 ]
  %33 = phi <8 x i64> [ %42, %31 ], [ %26, %15 ]
  %34 = getelementptr inbounds nuw i64, ptr %18, i64 %32
  %35 = load i64, ptr %34, align 8
  %36 = insertelement <8 x i64> poison, i64 %35, i64 0
  %37 = shufflevector <8 x i64> %36, <8 x i64> poison, <8 x i32> zeroinitializer
  %38 = shl nsw i64 %32, 6
  %39 = getelementptr inbounds nuw i8, ptr %23, i64 %38
  %40 = load <8 x i64>, ptr %39, align 4
  %41 = mul <8 x i64> %37, %40
  %42 = add <8 x i64> %41, %33
  %43 = add nuw nsw i64 %32, 1
  %44 = icmp eq i64 %43, %13
  br i1 %44, label %27, label %31
}

define internal void @wl.product_i64_16(ptr captures(none) %0, ptr readonly captures(none) %1, ptr readonly captures(none) %2, i32 %3, i32 %4, i32 %5) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %7 = icmp sgt i32 %3, 0
  br i1 %7, label %8, label %14

8:
  %9 = shl i32 %4, 4
  %10 = icmp sgt i32 %4, 0
  %11 = sext i32 %4 to i64
  %12 = zext nneg i32 %3 to i64
  %13 = zext nneg i32 %4 to i64
  br label %15

14:
  ret void

15:
  %16 = phi i64 [ 0, %8 ], [ %29, %27 ]
  %17 = mul nsw i64 %16, %11
  %18 = getelementptr inbounds i64, ptr %1, i64 %17
  %19 = trunc nuw nsw i64 %16 to i32
  %20 = sdiv i32 %19, %5
  %21 = mul i32 %9, %20
  %22 = sext i32 %21 to i64
  %23 = getelementptr inbounds i64, ptr %2, i64 %22
  %24 = shl nsw i64 %16, 7
  %25 = getelementptr inbounds nuw i8, ptr %0, i64 %24
  %26 = load <16 x i64>, ptr %25, align 4
  br i1 %10, label %31, label %27

27:
  %28 = phi <16 x i64> [ %26, %15 ], [ %42, %31 ]
  store <16 x i64> %28, ptr %25, align 4
  %29 = add nuw nsw i64 %16, 1
  %30 = icmp eq i64 %29, %12
  br i1 %30, label %14, label %15

31:
  %32 = phi i64 [ %43, %31 ], [ 0, %15 ]
  %33 = phi <16 x i64> [ %42, %31 ], [ %26, %15 ]
  %34 = getelementptr inbounds nuw i64, ptr %18, i64 %32
  %35 = load i64, ptr %34, align 8
  %36 = insertelement <16 x i64> poison, i64 %35, i64 0
  %37 = shufflevector <16 x i64> %36, <16 x i64> poison, <16 x i32> zeroinitializer
  %38 = shl nsw i64 %32, 7
  %39 = getelementptr inbounds nuw i8, ptr %23, i64 %38
  %40 = load <16 x i64>, ptr %39, align 4
  %41 = mul <16 x i64> %37, %40
  %42 = add <16 x i64> %41, %33
  %43 = add nuw nsw i64 %32, 1
  %44 = icmp eq i64 %43, %13
  br i1 %44, label %27, label %31
}

define internal void @wl.product_i64_32(ptr captures(none) %0, ptr readonly captures(none) %1, ptr readonly captures(none) %2, i32 %3, i32 %4, i32 %5) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %7 = icmp sgt i32 %3, 0
  br i1 %7, label %8, label %14

8:
  %9 = shl i32 %4, 5
  %10 = icmp sgt i32 %4, 0
  %11 = sext i32 %4 to i64
  %12 = zext nneg i32 %3 to i64
  %13 = zext nneg i32 %4 to i64
  br label %15

14:
  ret void

15:
  %16 = phi i64 [ 0, %8 ], [ %29, %27 ]
  %17 = mul nsw i64 %16, %11
  %18 = getelementptr inbounds i64, ptr %1, i64 %17
  %19 = trunc nuw nsw i64 %16 to i32
  %20 = sdiv i32 %19, %5
  %21 = mul i32 %9, %20
  %22 = sext i32 %21 to i64
  %23 = getelementptr inbounds i64, ptr %2, i64 %22
  %24 = shl nsw i64 %16, 8
  %25 = getelementptr inbounds nuw i8, ptr %0, i64 %24
  %26 = load <32 x i64>, ptr %25, align 4
  br i1 %10, label %31, label %27

27:
  %28 = phi <32 x i64> [ %26, %15 ], [ %42, %31 ]
  store <32 x i64> %28, ptr %25, align 4
  %29 = add nuw nsw i64 %16, 1
  %30 = icmp eq i64 %29, %12
  br i1 %30, label %14, label %15

31:
  %32 = phi i64 [ %43, %31 ], [ 0, %15 ]
  %33 = phi <32 x i64> [ %42, %31 ], [ %26, %15 ]
  %34 = getelementptr inbounds nuw i64, ptr %18, i64 %32
  %35 = load i64, ptr %34, align 8
  %36 = insertelement <32 x i64> poison, i64 %35, i64 0
  %37 = shufflevector <32 x i64> %36, <32 x i64> poison, <32 x i32> zeroinitializer
  %38 = shl nsw i64 %32, 8
  %39 = getelementptr inbounds nuw i8, ptr %23, i64 %38
  %40 = load <32 x i64>, ptr %39, align 4
  %41 = mul <32 x i64> %37, %40
  %42 = add <32 x i64> %41, %33
  %43 = add nuw nsw i64 %32, 1
  %44 = icmp eq i64 %43, %13
  br i1 %44, label %27, label %31
}

define internal void @wl.product_f64_8(ptr captures(none) %0, ptr readonly captures(none) %1, ptr readonly captures(none) %2, i32 %3, i32 %4, i32 %5) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %7 = icmp sgt i32 %3, 0
  br i1 %7, label %8, label %14

8:
  %9 = shl i32 %4, 3
  %10 = icmp sgt i32 %4, 0
  %11 = sext i32 %4 to i64
  %12 = zext nneg i32 %3 to i64
  %13 = zext nneg i32 %4 to i64
  br label %15

14:
  ret void

15:
  %16 = phi i64 [ 0, %8 ], [ %29, %27 ]
  %17 = mul nsw i64 %16, %11
  %18 = getelementptr inbounds double, ptr %1, i64 %17
  %19 = trunc nuw nsw i64 %16 to i32
  %20 = sdiv i32 %19, %5
  %21 = mul i32 %9, %20
  %22 = sext i32 %21 to i64
  %23 = getelementptr inbounds double, ptr %2, i64 %22
  %24 = shl nsw i64 %16, 6
  %25 = getelementptr inbounds nuw i8, ptr %0, i64 %24
  %26 = load <8 x double>, ptr %25, align 4
  br i1 %10, label %31, label %27

27:
  %28 = phi <8 x double> [ %26, %15 ], [ %41, %31 ]
  store <8 x double> %28, ptr %25, align 4
  %29 = add nuw nsw i64 %16, 1
  %30 = icmp eq i64 %29, %12
  br i1 %30, label %14, label %15

31:
  %32 = phi i64 [ %42, %31 ], [ 0, %15 ]
  %33 = phi <8 x double> [ %41, %31 ], [ %26, %15 ]
  %34 = getelementptr inbounds nuw double, ptr %18, i64 %32
  %35 = load double, ptr %34, align 8
  %36 = insertelement <8 x double> poison, double %35, i64 0
  %37 = shufflevector <8 x double> %36, <8 x double> poison, <8 x i32> zeroinitializer
  %38 = shl nsw i64 %32, 6
  %39 = getelementptr inbounds nuw i8, ptr %23, i64 %38
  %40 = load <8 x double>, ptr %39, align 4
  %41 = tail call <8 x double> @llvm.fma.v8f64(<8 x double> %37, <8 x double> %40, <8 x double> %33)
  %42 = add nuw nsw i64 %32, 1
  %43 = icmp eq i64 %42, %13
  br i1 %43, label %27, label %31
}

define internal void @wl.product_xor_8(ptr captures(none) %0, ptr readonly captures(none) %1, ptr readonly captures(none) %2, i32 %3, i32 %4, i32 %5) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %7 = icmp sgt i32 %3, 0
  br i1 %7, label %8, label %14

8:
  %9 = shl i32 %4, 3
  %10 = icmp sgt i32 %4, 0
  %11 = sext i32 %4 to i64
  %12 = zext nneg i32 %3 to i64
  %13 = zext nneg i32 %4 to i64
  br label %15

14:
  ret void

15:
  %16 = phi i64 [ 0, %8 ], [ %29, %27 ]
  %17 = mul nsw i64 %16, %11
  %18 = getelementptr inbounds i32, ptr %1, i64 %17
  %19 = trunc nuw nsw i64 %16 to i32
  %20 = sdiv i32 %19, %5
  %21 = mul i32 %9, %20
  %22 = sext i32 %21 to i64
  %23 = getelementptr inbounds i32, ptr %2, i64 %22
  %24 = shl nsw i64 %16, 5
  %25 = getelementptr inbounds nuw i8, ptr %0, i64 %24
  %26 = load <8 x i32>, ptr %25, align 4
  br i1 %10, label %31, label %27

27:
  %28 = phi <8 x i32> [ %26, %15 ], [ %43, %31 ]
  store <8 x i32> %28, ptr %25, align 4
  %29 = add nuw nsw i64 %16, 1
  %30 = icmp eq i64 %29, %12
  br i1 %30, label %14, label %15

31:
  %32 = phi i64 [ %44, %31 ], [ 0, %15 ]
  %33 = phi <8 x i32> [ %43, %31 ], [ %26, %15 ]
  %34 = getelementptr inbounds nuw i32, ptr %18, i64 %32
  %35 = load i32, ptr %34, align 4
  %36 = insertelement <8 x i32> poison, i32 %35, i64 0
  %37 = shufflevector <8 x i32> %36, <8 x i32> poison, <8 x i32> zeroinitializer
  %38 = shl nsw i64 %32, 5
  %39 = getelementptr inbounds nuw i8, ptr %23, i64 %38
  %40 = load <8 x i32>, ptr %39, align 4
  %41 = xor <8 x i32> %37, %40
  %42 = tail call range(i32 0, 33) <8 x i32> @llvm.ctpop.v8i32(<8 x i32> %41)
  %43 = add <8 x i32> %42, %33
  %44 = add nuw nsw i64 %32, 1
  %45 = icmp eq i64 %44, %13
  br i1 %45, label %27, label %31
}

define internal void @wl.product_and_8(ptr captures(none) %0, ptr readonly captures(none) %1, ptr readonly captures(none) %2, i32 %3, i32 %4, i32 %5) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %7 = icmp sgt i32 %3, 0
  br i1 %7, label %8, label %14

8:
  %9 = shl i32 %4, 3
  %10 = icmp sgt i32 %4, 0
  %11 = sext i32 %4 to i64
  %12 = zext nneg i32 %3 to i64
  %13 = zext nneg i32 %4 to i64
  br label %15

14:
  ret void

15:
  %16 = phi i64 [ 0, %8 ], [ %29, %27 ]
  %17 = mul nsw i64 %16, %11
  %18 = getelementptr inbounds i32, ptr %1, i64 %17
  %19 = trunc nuw nsw i64 %16 to i32
  %20 = sdiv i32 %19, %5
  %21 = mul i32 %9, %20
  %22 = sext i32 %21 to i64
  %23 = getelementptr inbounds i32, ptr %2, i64 %22
  %24 = shl nsw i64 %16, 5
  %25 = getelementptr inbounds nuw i8, ptr %0, i64 %24
  %26 = load <8 x i32>, ptr %25, align 4
  br i1 %10, label %31, label %27

27:
  %28 = phi <8 x i32> [ %26, %15 ], [ %43, %31 ]
  store <8 x i32> %28, ptr %25, align 4
  %29 = add nuw nsw i64 %16, 1
  %30 = icmp eq i64 %29, %12
  br i1 %30, label %14, label %15

31:
  %32 = phi i64 [ %44, %31 ], [ 0, %15 ]
  %33 = phi <8 x i32> [ %43, %31 ], [ %26, %15 ]
  %34 = getelementptr inbounds nuw i32, ptr %18, i64 %32
  %35 = load i32, ptr %34, align 4
  %36 = insertelement <8 x i32> poison, i32 %35, i64 0
  %37 = shufflevector <8 x i32> %36, <8 x i32> poison, <8 x i32> zeroinitializer
  %38 = shl nsw i64 %32, 5
  %39 = getelementptr inbounds nuw i8, ptr %23, i64 %38
  %40 = load <8 x i32>, ptr %39, align 4
  %41 = and <8 x i32> %37, %40
  %42 = tail call range(i32 0, 33) <8 x i32> @llvm.ctpop.v8i32(<8 x i32> %41)
  %43 = add <8 x i32> %42, %33
  %44 = add nuw nsw i64 %32, 1
  %45 = icmp eq i64 %44, %13
  br i1 %45, label %27, label %31
}

define internal void @wl.product_f64_rz_8(ptr captures(none) %0, ptr readonly captures(none) %1, ptr readonly captures(none) %2, i32 %3, i32 %4, i32 %5) alwaysinline nounwind {
  %7 = icmp sgt i32 %3, 0
  br i1 %7, label %8, label %24

8:
  %9 = icmp sgt i32 %4, 0
  %10 = sext i32 %4 to i64
  %11 = zext nneg i32 %3 to i64
  %12 = zext nneg i32 %4 to i64
  br label %13

13:
  %14 = phi i64 [ 0, %8 ], [ %32, %31 ]
  br i1 %9, label %15, label %31

15:
  %16 = shl nsw i64 %14, 6
  %17 = getelementptr inbounds nuw i8, ptr %0, i64 %16
  %18 = mul nuw nsw i64 %14, %10
  %19 = trunc nuw nsw i64 %14 to i32
  %20 = sdiv i32 %19, %5
  %21 = mul nsw i32 %20, %4
  %22 = sext i32 %21 to i64
  %23 = getelementptr double, ptr %1, i64 %18
  br label %25

24:
  ret void

25:
  %26 = phi i64 [ 0, %15 ], [ %35, %34 ]
  %27 = getelementptr double, ptr %23, i64 %26
  %28 = add nsw i64 %26, %22
  %29 = shl i64 %28, 6
  %30 = getelementptr i8, ptr %2, i64 %29
  br label %37

31:
  %32 = add nuw nsw i64 %14, 1
  %33 = icmp eq i64 %32, %11
  br i1 %33, label %24, label %13

34:
  %35 = add nuw nsw i64 %26, 1
  %36 = icmp eq i64 %35, %12
  br i1 %36, label %31, label %25

37:
  %38 = phi i64 [ 0, %25 ], [ %45, %37 ]
  %39 = getelementptr inbounds nuw double, ptr %17, i64 %38
  %40 = load double, ptr %27, align 8
  %41 = getelementptr double, ptr %30, i64 %38
  %42 = load double, ptr %41, align 8
  %43 = load double, ptr %39, align 8
  %44 = tail call double @wl.rounded.fma.rz(double %40, double %42, double %43) nounwind
  store double %44, ptr %39, align 8
  %45 = add nuw nsw i64 %38, 1
  %46 = icmp eq i64 %45, 8
  br i1 %46, label %34, label %37
}

define internal void @wl.product_f64_rm_8(ptr captures(none) %0, ptr readonly captures(none) %1, ptr readonly captures(none) %2, i32 %3, i32 %4, i32 %5) alwaysinline nounwind {
  %7 = icmp sgt i32 %3, 0
  br i1 %7, label %8, label %24

8:
  %9 = icmp sgt i32 %4, 0
  %10 = sext i32 %4 to i64
  %11 = zext nneg i32 %3 to i64
  %12 = zext nneg i32 %4 to i64
  br label %13

13:
  %14 = phi i64 [ 0, %8 ], [ %32, %31 ]
  br i1 %9, label %15, label %31

15:
  %16 = shl nsw i64 %14, 6
  %17 = getelementptr inbounds nuw i8, ptr %0, i64 %16
  %18 = mul nuw nsw i64 %14, %10
  %19 = trunc nuw nsw i64 %14 to i32
  %20 = sdiv i32 %19, %5
  %21 = mul nsw i32 %20, %4
  %22 = sext i32 %21 to i64
  %23 = getelementptr double, ptr %1, i64 %18
  br label %25

24:
  ret void

25:
  %26 = phi i64 [ 0, %15 ], [ %35, %34 ]
  %27 = getelementptr double, ptr %23, i64 %26
  %28 = add nsw i64 %26, %22
  %29 = shl i64 %28, 6
  %30 = getelementptr i8, ptr %2, i64 %29
  br label %37

31:
  %32 = add nuw nsw i64 %14, 1
  %33 = icmp eq i64 %32, %11
  br i1 %33, label %24, label %13

34:
  %35 = add nuw nsw i64 %26, 1
  %36 = icmp eq i64 %35, %12
  br i1 %36, label %31, label %25

37:
  %38 = phi i64 [ 0, %25 ], [ %45, %37 ]
  %39 = getelementptr inbounds nuw double, ptr %17, i64 %38
  %40 = load double, ptr %27, align 8
  %41 = getelementptr double, ptr %30, i64 %38
  %42 = load double, ptr %41, align 8
  %43 = load double, ptr %39, align 8
  %44 = tail call double @wl.rounded.fma.rm(double %40, double %42, double %43) nounwind
  store double %44, ptr %39, align 8
  %45 = add nuw nsw i64 %38, 1
  %46 = icmp eq i64 %45, 8
  br i1 %46, label %34, label %37
}

define internal void @wl.product_f64_rp_8(ptr captures(none) %0, ptr readonly captures(none) %1, ptr readonly captures(none) %2, i32 %3, i32 %4, i32 %5) alwaysinline nounwind {
  %7 = icmp sgt i32 %3, 0
  br i1 %7, label %8, label %24

8:
  %9 = icmp sgt i32 %4, 0
  %10 = sext i32 %4 to i64
  %11 = zext nneg i32 %3 to i64
  %12 = zext nneg i32 %4 to i64
  br label %13

13:
  %14 = phi i64 [ 0, %8 ], [ %32, %31 ]
  br i1 %9, label %15, label %31

15:
  %16 = shl nsw i64 %14, 6
  %17 = getelementptr inbounds nuw i8, ptr %0, i64 %16
  %18 = mul nuw nsw i64 %14, %10
  %19 = trunc nuw nsw i64 %14 to i32
  %20 = sdiv i32 %19, %5
  %21 = mul nsw i32 %20, %4
  %22 = sext i32 %21 to i64
  %23 = getelementptr double, ptr %1, i64 %18
  br label %25

24:
  ret void

25:
  %26 = phi i64 [ 0, %15 ], [ %35, %34 ]
  %27 = getelementptr double, ptr %23, i64 %26
  %28 = add nsw i64 %26, %22
  %29 = shl i64 %28, 6
  %30 = getelementptr i8, ptr %2, i64 %29
  br label %37

31:
  %32 = add nuw nsw i64 %14, 1
  %33 = icmp eq i64 %32, %11
  br i1 %33, label %24, label %13

34:
  %35 = add nuw nsw i64 %26, 1
  %36 = icmp eq i64 %35, %12
  br i1 %36, label %31, label %25

37:
  %38 = phi i64 [ 0, %25 ], [ %45, %37 ]
  %39 = getelementptr inbounds nuw double, ptr %17, i64 %38
  %40 = load double, ptr %27, align 8
  %41 = getelementptr double, ptr %30, i64 %38
  %42 = load double, ptr %41, align 8
  %43 = load double, ptr %39, align 8
  %44 = tail call double @wl.rounded.fma.rp(double %40, double %42, double %43) nounwind
  store double %44, ptr %39, align 8
  %45 = add nuw nsw i64 %38, 1
  %46 = icmp eq i64 %45, 8
  br i1 %46, label %34, label %37
}

define internal void @wl.scatter_f32_to_f32(ptr readonly captures(none) %0, ptr writeonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 151552
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %10, label %12

10:
  %11 = zext nneg i32 %4 to i64
  br label %13

12:
  ret void

13:
  %14 = phi i64 [ 0, %10 ], [ %21, %13 ]
  %15 = getelementptr inbounds nuw i32, ptr %3, i64 %14
  %16 = load i32, ptr %15, align 4
  %17 = zext i32 %16 to i64
  %18 = getelementptr inbounds nuw i8, ptr %8, i64 %17
  %19 = getelementptr inbounds nuw float, ptr %0, i64 %14
  %20 = load float, ptr %19, align 4
  store float %20, ptr %18, align 4
  %21 = add nuw nsw i64 %14, 1
  %22 = icmp eq i64 %21, %11
  br i1 %22, label %12, label %13
}

define internal void @wl.scatter_f32_to_f16(ptr readonly captures(none) %0, ptr writeonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 151552
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %10, label %12

10:
  %11 = zext nneg i32 %4 to i64
  br label %13

12:
  ret void

13:
  %14 = phi i64 [ 0, %10 ], [ %22, %13 ]
  %15 = getelementptr inbounds nuw i32, ptr %3, i64 %14
  %16 = load i32, ptr %15, align 4
  %17 = zext i32 %16 to i64
  %18 = getelementptr inbounds nuw i8, ptr %8, i64 %17
  %19 = getelementptr inbounds nuw float, ptr %0, i64 %14
  %20 = load float, ptr %19, align 4
  %21 = fptrunc float %20 to half
  store half %21, ptr %18, align 2
  %22 = add nuw nsw i64 %14, 1
  %23 = icmp eq i64 %22, %11
  br i1 %23, label %12, label %13
}

define internal void @wl.scatter_f64_to_f64(ptr readonly captures(none) %0, ptr writeonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 151552
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %10, label %12

10:
  %11 = zext nneg i32 %4 to i64
  br label %13

12:
  ret void

13:
  %14 = phi i64 [ 0, %10 ], [ %25, %13 ]
  %15 = getelementptr inbounds nuw i32, ptr %3, i64 %14
  %16 = load i32, ptr %15, align 4
  %17 = zext i32 %16 to i64
  %18 = getelementptr inbounds nuw i8, ptr %8, i64 %17
  %19 = getelementptr inbounds nuw double, ptr %0, i64 %14
  %20 = load i64, ptr %19, align 8
  %21 = trunc i64 %20 to i32
  store i32 %21, ptr %18, align 4
  %22 = lshr i64 %20, 32
  %23 = trunc nuw i64 %22 to i32
  %24 = getelementptr inbounds nuw i8, ptr %18, i64 4096
  store i32 %23, ptr %24, align 4
  %25 = add nuw nsw i64 %14, 1
  %26 = icmp eq i64 %25, %11
  br i1 %26, label %12, label %13
}

define internal void @wl.scatter_i32_to_s32(ptr readonly captures(none) %0, ptr writeonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 151552
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %10, label %12

10:
  %11 = zext nneg i32 %4 to i64
  br label %13

12:
  ret void

13:
  %14 = phi i64 [ 0, %10 ], [ %21, %13 ]
  %15 = getelementptr inbounds nuw i32, ptr %3, i64 %14
  %16 = load i32, ptr %15, align 4
  %17 = zext i32 %16 to i64
  %18 = getelementptr inbounds nuw i8, ptr %8, i64 %17
  %19 = getelementptr inbounds nuw i32, ptr %0, i64 %14
  %20 = load i32, ptr %19, align 4
  store i32 %20, ptr %18, align 4
  %21 = add nuw nsw i64 %14, 1
  %22 = icmp eq i64 %21, %11
  br i1 %22, label %12, label %13
}

define internal void @wl.scatter_i64_to_s32(ptr readonly captures(none) %0, ptr writeonly captures(none) %1, i32 %2, ptr readonly captures(none) %3, i32 %4) alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 151552
  %7 = zext i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = icmp sgt i32 %4, 0
  br i1 %9, label %10, label %12

10:
  %11 = zext nneg i32 %4 to i64
  br label %13

12:
  ret void

13:
  %14 = phi i64 [ 0, %10 ], [ %24, %13 ]
  %15 = getelementptr inbounds nuw i32, ptr %3, i64 %14
  %16 = load i32, ptr %15, align 4
  %17 = zext i32 %16 to i64
  %18 = getelementptr inbounds nuw i8, ptr %8, i64 %17
  %19 = getelementptr inbounds nuw i64, ptr %0, i64 %14
  %20 = load i64, ptr %19, align 8
  %21 = tail call i64 @llvm.smax.i64(i64 %20, i64 -2147483648)
  %22 = tail call i64 @llvm.smin.i64(i64 %21, i64 2147483647)
  %23 = trunc nsw i64 %22 to i32
  store i32 %23, ptr %18, align 4
  %24 = add nuw nsw i64 %14, 1
  %25 = icmp eq i64 %24, %11
  br i1 %25, label %12, label %13
}

define internal void @wl.permute(ptr captures(none) %0, i32 %1, ptr readonly captures(none) %2, i32 %3) nofree norecurse nosync nounwind memory(argmem: readwrite) {
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 4096
  %6 = zext i32 %1 to i64
  %7 = getelementptr inbounds nuw i32, ptr %5, i64 %6
  %8 = icmp sgt i32 %3, 0
  br i1 %8, label %9, label %16

9:
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 151552
  %11 = zext nneg i32 %3 to i64
  br label %12

12:
  %13 = phi i64 [ 0, %9 ], [ %18, %17 ]
  %14 = getelementptr inbounds nuw [32 x [2 x i32]], ptr %2, i64 %13
  %15 = getelementptr inbounds nuw [1024 x i32], ptr %10, i64 %13
  br label %20

16:
  ret void

17:
  %18 = add nuw nsw i64 %13, 1
  %19 = icmp eq i64 %18, %11
  br i1 %19, label %16, label %12

20:
  %21 = phi i64 [ 0, %12 ], [ %40, %20 ]
  %22 = getelementptr inbounds nuw [2 x i32], ptr %14, i64 %21
  %23 = load i32, ptr %22, align 4
  %24 = zext i32 %23 to i64
  %25 = getelementptr inbounds nuw i8, ptr %7, i64 %24
  %26 = load i16, ptr %25, align 2
  %27 = zext i16 %26 to i32
  %28 = getelementptr inbounds nuw i8, ptr %22, i64 4
  %29 = load i32, ptr %28, align 4
  %30 = zext i32 %29 to i64
  %31 = getelementptr inbounds nuw i8, ptr %7, i64 %30
  %32 = load i16, ptr %31, align 2
  %33 = zext i16 %32 to i32
  %34 = shl nuw i32 %33, 16
  %35 = or disjoint i32 %34, %27
  %36 = trunc nuw nsw i64 %21 to i32
  %37 = add i32 %1, %36
  %38 = zext i32 %37 to i64
  %39 = getelementptr inbounds nuw i32, ptr %15, i64 %38
  store i32 %35, ptr %39, align 4
  %40 = add nuw nsw i64 %21, 1
  %41 = icmp eq i64 %40, 32
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

%struct.frame = type { %struct.kernel, ptr, ptr, ptr, ptr, i32, i32, i32, i32, i32, i32, i32 }

%struct.kernel = type { ptr, ptr, i32, i32, i32, i32 }

%struct.phase = type { ptr, ptr, ptr, ptr, i32, i32, i32, i32, i32 }

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
  call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 8 dereferenceable(32) %8, ptr noundef nonnull align 8 dereferenceable(32) %0, i64 32, i1 false)
  %21 = getelementptr inbounds nuw i8, ptr %8, i64 32
  store ptr %1, ptr %21, align 8
  %22 = getelementptr inbounds nuw i8, ptr %8, i64 40
  store ptr %2, ptr %22, align 8
  %23 = getelementptr inbounds nuw i8, ptr %8, i64 48
  store ptr %3, ptr %23, align 8
  %24 = getelementptr inbounds nuw i8, ptr %8, i64 56
  store ptr %20, ptr %24, align 8
  %25 = getelementptr inbounds nuw i8, ptr %8, i64 64
  store i32 %4, ptr %25, align 8
  %26 = getelementptr inbounds nuw i8, ptr %8, i64 68
  store i32 %5, ptr %26, align 4
  %27 = getelementptr inbounds nuw i8, ptr %8, i64 72
  store i32 %6, ptr %27, align 8
  %28 = getelementptr inbounds nuw i8, ptr %8, i64 76
  store i32 %11, ptr %28, align 4
  %29 = getelementptr inbounds nuw i8, ptr %8, i64 80
  store i32 %14, ptr %29, align 8
  %30 = getelementptr inbounds nuw i8, ptr %8, i64 84
  store i32 %17, ptr %30, align 4
  %31 = getelementptr inbounds nuw i8, ptr %8, i64 88
  %32 = mul i32 %14, %11
  %33 = mul i32 %32, %17
  store i32 %33, ptr %31, align 8
  %34 = getelementptr inbounds nuw i8, ptr %8, i64 92
  store i32 0, ptr %34, align 4
  %35 = getelementptr inbounds nuw i8, ptr %20, i64 217088
  tail call void @llvm.memset.p0.i64(ptr noundef nonnull align 4 dereferenceable(68) %35, i8 0, i64 68, i1 false)
  %36 = getelementptr inbounds nuw i8, ptr %3, i64 16
  %37 = getelementptr inbounds nuw i8, ptr %1, i64 80
  %38 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %39 = getelementptr inbounds nuw i8, ptr %0, i64 28
  br label %40

40:
  %41 = phi i32 [ 0, %7 ], [ %54, %75 ]
  %42 = load ptr, ptr %0, align 8
  %43 = tail call i32 %42(ptr nonnull %1, ptr %2, ptr nonnull %3, ptr %20, i32 %4, i32 %5, i32 %6, i32 0, i32 %11, i32 0, i32 %14, i32 0, i32 %17, i1 zeroext true, i32 %41) nounwind
  %44 = load i64, ptr %36, align 8
  %45 = load ptr, ptr %37, align 8
  %46 = load volatile i64, ptr %45, align 8
  %47 = or i64 %46, %44
  %48 = icmp eq i64 %47, 0
  br i1 %48, label %49, label %82

49:
  %50 = icmp eq i32 %43, 0
  br i1 %50, label %51, label %53

51:
  %52 = tail call fastcc i32 @wl.common_state(ptr %20, i32 %33)
  br label %53

53:
  %54 = phi i32 [ %52, %51 ], [ %43, %49 ]
  %55 = icmp eq i32 %54, -1
  br i1 %55, label %82, label %56

56:
  %57 = load ptr, ptr %38, align 8
  %58 = sext i32 %54 to i64
  %59 = getelementptr inbounds %struct.phase, ptr %57, i64 %58
  %60 = icmp eq i32 %54, 0
  br i1 %60, label %77, label %61

61:
  %62 = load i32, ptr %39, align 4
  %63 = icmp eq i32 %62, 0
  br i1 %63, label %68, label %64

64:
  %65 = getelementptr inbounds nuw i8, ptr %59, i64 32
  %66 = load i32, ptr %65, align 8
  %67 = icmp eq i32 %66, 1
  br i1 %67, label %77, label %68

68:
  %69 = load ptr, ptr %59, align 8
  %70 = icmp eq ptr %69, null
  br i1 %70, label %71, label %76

71:
  %72 = getelementptr inbounds nuw i8, ptr %59, i64 32
  %73 = load i32, ptr %72, align 8
  %74 = icmp eq i32 %73, 3
  br i1 %74, label %76, label %75

75:
  br label %40

76:
  call fastcc void @wl.resolve(ptr %8, i32 %54)
  br label %75

77:
  %78 = sext i32 %41 to i64
  %79 = getelementptr inbounds %struct.phase, ptr %57, i64 %78
  %80 = getelementptr inbounds nuw i8, ptr %79, i64 24
  %81 = load ptr, ptr %80, align 8
  tail call fastcc void @wl.spread(ptr %20, ptr %81, i32 0, i32 %33)
  call fastcc void @wl.run_diverged(ptr %8, i32 %54)
  br label %82

82:
  ret void
}

define internal fastcc i32 @wl.common_state(ptr readonly captures(none) %0, i32 %1) unnamed_addr minsize nofree noinline norecurse nosync nounwind memory(argmem: read) {
  %3 = load i32, ptr %0, align 4
  %4 = zext i32 %1 to i64
  br label %5

5:
  %6 = phi i64 [ %12, %8 ], [ 1, %2 ]
  %7 = icmp samesign ult i64 %6, %4
  br i1 %7, label %8, label %13

8:
  %9 = getelementptr inbounds nuw i32, ptr %0, i64 %6
  %10 = load i32, ptr %9, align 4
  %11 = icmp eq i32 %10, %3
  %12 = add nuw nsw i64 %6, 1
  br i1 %11, label %5, label %13

13:
  %14 = phi i32 [ 0, %8 ], [ %3, %5 ]
  ret i32 %14
}

define internal fastcc void @wl.resolve(ptr nonnull readonly captures(none) %0, i32 range(i32 1, -1) %1) unnamed_addr noinline nounwind {
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %4 = load ptr, ptr %3, align 8
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 16
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
  %14 = getelementptr inbounds nuw i8, ptr %0, i64 88
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
  %31 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %32 = load ptr, ptr %31, align 8
  %33 = getelementptr inbounds nuw i8, ptr %0, i64 88
  %34 = load i32, ptr %33, align 8
  tail call void %28(ptr %32, i32 0, i32 %34, i32 range(i32 1, 0) %1) nounwind
  br label %37

35:
  %36 = tail call i32 @sched_yield() nounwind
  br label %37

37:
  ret void
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

define internal fastcc void @wl.run_diverged(ptr nonnull readonly captures(none) %0, i32 range(i32 0, -1) %1) unnamed_addr minsize noinline nounwind {
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 28
  %4 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %6 = getelementptr inbounds nuw i8, ptr %0, i64 48
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 88
  br label %10

10:
  %11 = phi i32 [ %1, %2 ], [ %48, %47 ]
  switch i32 %11, label %12 [
    i32 -1, label %49
    i32 0, label %25
  ]

12:
  %13 = load i32, ptr %3, align 4
  %14 = icmp eq i32 %13, 0
  br i1 %14, label %28, label %15

15:
  %16 = load ptr, ptr %4, align 8
  %17 = load i32, ptr %5, align 8
  %18 = icmp ult i32 %11, %17
  %19 = select i1 %18, i32 %11, i32 0
  %20 = zext i32 %19 to i64
  %21 = getelementptr inbounds nuw %struct.phase, ptr %16, i64 %20
  %22 = getelementptr inbounds nuw i8, ptr %21, i64 32
  %23 = load i32, ptr %22, align 8
  %24 = icmp eq i32 %23, 1
  br i1 %24, label %25, label %28

25:
  %26 = tail call fastcc zeroext i1 @wl.run_round(ptr %0)
  br i1 %26, label %30, label %27

27:
  tail call fastcc void @wl.report_deadlock(ptr %0)
  br label %49

28:
  tail call fastcc void @wl.resolve(ptr %0, i32 %11)
  %29 = tail call fastcc i32 @wl.run_all(ptr %0, i32 %11)
  br label %30

30:
  %31 = phi i32 [ %29, %28 ], [ 0, %25 ]
  %32 = load ptr, ptr %6, align 8
  %33 = getelementptr inbounds nuw i8, ptr %32, i64 16
  %34 = load i64, ptr %33, align 8
  %35 = load ptr, ptr %7, align 8
  %36 = getelementptr inbounds nuw i8, ptr %35, i64 80
  %37 = load ptr, ptr %36, align 8
  %38 = load volatile i64, ptr %37, align 8
  %39 = or i64 %38, %34
  %40 = icmp eq i64 %39, 0
  br i1 %40, label %41, label %49

41:
  %42 = icmp eq i32 %31, 0
  br i1 %42, label %43, label %47

43:
  %44 = load ptr, ptr %8, align 8
  %45 = load i32, ptr %9, align 8
  %46 = tail call fastcc i32 @wl.common_state(ptr %44, i32 %45)
  br label %47

47:
  %48 = phi i32 [ %46, %43 ], [ %31, %41 ]
  br label %10

49:
  ret void
}

define internal fastcc void @wl.resolve_warp(ptr nonnull readonly captures(none) %0, ptr readonly captures(none) %1, i32 %2, i32 %3, i32 %4) unnamed_addr minsize noinline nounwind {
  %6 = load ptr, ptr %1, align 8
  %7 = icmp eq ptr %6, null
  br i1 %7, label %34, label %8

8:
  %9 = getelementptr inbounds nuw i8, ptr %1, i64 48
  %10 = load i32, ptr %9, align 8
  %11 = icmp eq i32 %10, 0
  %12 = getelementptr inbounds nuw i8, ptr %0, i64 56
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

declare i32 @sched_yield()

define internal fastcc noundef zeroext i1 @wl.run_round(ptr nonnull readonly captures(none) %0) unnamed_addr minsize noinline nounwind {
  %2 = getelementptr inbounds nuw i8, ptr %0, i64 88
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %4 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 16
  br label %6

6:
  %7 = phi i64 [ %33, %32 ], [ 0, %1 ]
  %8 = phi i32 [ %28, %32 ], [ 0, %1 ]
  %9 = load i32, ptr %2, align 8
  %10 = zext i32 %9 to i64
  %11 = icmp samesign ult i64 %7, %10
  br i1 %11, label %15, label %12

12:
  %13 = and i32 %8, 4
  %14 = icmp ne i32 %13, 0
  br i1 %14, label %34, label %37

15:
  %16 = load ptr, ptr %3, align 8
  %17 = getelementptr inbounds nuw i32, ptr %16, i64 %7
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
  %33 = add nuw nsw i64 %7, 1
  br label %6

34:
  %35 = tail call fastcc zeroext i1 @wl.run_warps(ptr %0, i1 zeroext false)
  %36 = zext i1 %35 to i32
  br label %37

37:
  %38 = phi i32 [ 0, %12 ], [ %36, %34 ]
  %39 = tail call fastcc zeroext i1 @wl.release_barrier(ptr %0)
  %40 = zext i1 %39 to i32
  %41 = or i32 %38, %40
  %42 = icmp eq i32 %41, 0
  %43 = trunc nuw i32 %41 to i1
  %44 = and i1 %14, %42
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
  %2 = getelementptr inbounds nuw i8, ptr %0, i64 56
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
  %12 = getelementptr inbounds nuw i8, ptr %0, i64 48
  %13 = load ptr, ptr %12, align 8
  %14 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %15 = load ptr, ptr %14, align 8
  %16 = getelementptr inbounds nuw i8, ptr %0, i64 16
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

define internal fastcc i32 @wl.run_all(ptr nonnull readonly captures(none) %0, i32 range(i32 1, -1) %1) unnamed_addr minsize noinline nounwind {
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %4 = load ptr, ptr %3, align 8
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %6 = load i32, ptr %5, align 8
  %7 = icmp ult i32 %1, %6
  %8 = select i1 %7, i32 %1, i32 0
  %9 = zext i32 %8 to i64
  %10 = getelementptr inbounds nuw %struct.phase, ptr %4, i64 %9
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %12 = load ptr, ptr %11, align 8
  %13 = getelementptr inbounds nuw i8, ptr %10, i64 8
  %14 = load ptr, ptr %13, align 8
  %15 = getelementptr inbounds nuw i8, ptr %0, i64 88
  %16 = load i32, ptr %15, align 8
  %17 = tail call fastcc i32 @wl.alike(ptr %12, ptr %14, i32 0, i32 %16)
  %18 = icmp ult i32 %17, %16
  br i1 %18, label %19, label %20

19:
  tail call fastcc void @wl.scatter(ptr %0, i32 %1)
  br label %45

20:
  %21 = getelementptr inbounds nuw i8, ptr %0, i64 76
  %22 = load i32, ptr %21, align 4
  %23 = getelementptr inbounds nuw i8, ptr %0, i64 80
  %24 = load i32, ptr %23, align 8
  %25 = getelementptr inbounds nuw i8, ptr %0, i64 84
  %26 = load i32, ptr %25, align 4
  %27 = load ptr, ptr %0, align 8
  %28 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %29 = load ptr, ptr %28, align 8
  %30 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %31 = load ptr, ptr %30, align 8
  %32 = getelementptr inbounds nuw i8, ptr %0, i64 48
  %33 = load ptr, ptr %32, align 8
  %34 = getelementptr inbounds nuw i8, ptr %0, i64 64
  %35 = load i32, ptr %34, align 8
  %36 = getelementptr inbounds nuw i8, ptr %0, i64 68
  %37 = load i32, ptr %36, align 4
  %38 = getelementptr inbounds nuw i8, ptr %0, i64 72
  %39 = load i32, ptr %38, align 8
  %40 = tail call i32 %27(ptr %29, ptr %31, ptr %33, ptr %12, i32 %35, i32 %37, i32 %39, i32 0, i32 %22, i32 0, i32 %24, i32 0, i32 %26, i1 zeroext false, i32 range(i32 0, -1) %1) nounwind
  %41 = load ptr, ptr %11, align 8
  %42 = getelementptr inbounds nuw i8, ptr %10, i64 16
  %43 = load ptr, ptr %42, align 8
  %44 = load i32, ptr %15, align 8
  tail call fastcc void @wl.spread(ptr %41, ptr %43, i32 0, i32 %44)
  br label %45

45:
  %46 = phi i32 [ 0, %19 ], [ %40, %20 ]
  ret i32 %46
}

define internal fastcc zeroext i1 @wl.run_warps(ptr nonnull readonly captures(none) %0, i1 zeroext %1) unnamed_addr minsize noinline nounwind {
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 88
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
  %2 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %3 = load ptr, ptr %2, align 8
  %4 = getelementptr inbounds nuw i8, ptr %0, i64 20
  %5 = load i32, ptr %4, align 4
  %6 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %7 = load i32, ptr %6, align 8
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 88
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %11 = getelementptr inbounds nuw i8, ptr %3, i64 143360
  %12 = getelementptr inbounds nuw i8, ptr %3, i64 147456
  %13 = getelementptr inbounds nuw i8, ptr %3, i64 217088
  br label %14

14:
  %15 = phi i32 [ %5, %1 ], [ %123, %122 ]
  %16 = icmp ult i32 %15, %7
  br i1 %16, label %17, label %124

17:
  %18 = load i32, ptr %8, align 8
  %19 = zext i32 %18 to i64
  br label %20

20:
  %21 = phi i64 [ 0, %17 ], [ %64, %57 ]
  %22 = phi i32 [ 0, %17 ], [ %61, %57 ]
  %23 = phi i32 [ 0, %17 ], [ %44, %57 ]
  %24 = phi i32 [ 0, %17 ], [ %63, %57 ]
  %25 = icmp eq i64 %21, %19
  br i1 %25, label %26, label %39

26:
  %27 = zext i32 %22 to i64
  %28 = getelementptr inbounds nuw i32, ptr %3, i64 %27
  %29 = load i32, ptr %28, align 4
  %30 = load ptr, ptr %9, align 8
  %31 = load i32, ptr %10, align 8
  %32 = icmp ult i32 %29, %31
  %33 = select i1 %32, i32 %29, i32 0
  %34 = zext i32 %33 to i64
  %35 = getelementptr inbounds nuw %struct.phase, ptr %30, i64 %34
  %36 = getelementptr inbounds nuw i8, ptr %35, i64 44
  %37 = load i32, ptr %36, align 4
  %38 = icmp slt i32 %37, 0
  br i1 %38, label %65, label %68

39:
  %40 = getelementptr inbounds nuw i32, ptr %3, i64 %21
  %41 = load i32, ptr %40, align 4
  %42 = icmp ne i32 %41, -1
  %43 = zext i1 %42 to i32
  %44 = add i32 %23, %43
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
  %55 = getelementptr inbounds nuw i32, ptr %11, i64 %21
  %56 = load i32, ptr %55, align 4
  br label %57

57:
  %58 = phi i32 [ %56, %54 ], [ %52, %39 ]
  %59 = icmp eq i32 %58, %15
  %60 = trunc nuw i64 %21 to i32
  %61 = select i1 %59, i32 %60, i32 %22
  %62 = zext i1 %59 to i32
  %63 = add i32 %24, %62
  %64 = add nuw nsw i64 %21, 1
  br label %20

65:
  %66 = getelementptr inbounds nuw i32, ptr %12, i64 %27
  %67 = load i32, ptr %66, align 4
  br label %68

68:
  %69 = phi i32 [ %67, %65 ], [ %37, %26 ]
  %70 = zext i32 %15 to i64
  %71 = getelementptr inbounds nuw i32, ptr %13, i64 %70
  %72 = load i32, ptr %71, align 4
  %73 = add i32 %72, %24
  %74 = icmp eq i32 %69, 0
  %75 = select i1 %74, i32 %23, i32 %69
  %76 = icmp eq i32 %24, 0
  %77 = icmp ugt i32 %75, %73
  %78 = select i1 %76, i1 true, i1 %77
  br i1 %78, label %122, label %79

79:
  %80 = sub nuw i32 %73, %75
  %81 = icmp ult i32 %80, %72
  br i1 %81, label %82, label %84

82:
  %83 = getelementptr inbounds nuw i32, ptr %13, i64 %70
  store i32 %80, ptr %83, align 4
  br label %84

84:
  br label %85

85:
  %86 = phi i64 [ %121, %120 ], [ 0, %84 ]
  %87 = load i32, ptr %8, align 8
  %88 = zext i32 %87 to i64
  %89 = icmp samesign ult i64 %86, %88
  br i1 %89, label %96, label %90

90:
  %91 = load ptr, ptr %35, align 8
  %92 = icmp eq ptr %91, null
  br i1 %92, label %124, label %93

93:
  %94 = or i32 %29, 1073741824
  %95 = load ptr, ptr %2, align 8
  tail call void %91(ptr %95, i32 0, i32 %87, i32 range(i32 1, 0) %94) nounwind
  br label %124

96:
  %97 = load ptr, ptr %2, align 8
  %98 = getelementptr inbounds nuw i32, ptr %97, i64 %86
  %99 = load i32, ptr %98, align 4
  %100 = load ptr, ptr %9, align 8
  %101 = load i32, ptr %10, align 8
  %102 = icmp ult i32 %99, %101
  %103 = select i1 %102, i32 %99, i32 0
  %104 = zext i32 %103 to i64
  %105 = getelementptr inbounds nuw %struct.phase, ptr %100, i64 %104
  %106 = getelementptr inbounds nuw i8, ptr %105, i64 40
  %107 = load i32, ptr %106, align 8
  %108 = icmp sgt i32 %107, -1
  br i1 %108, label %113, label %109

109:
  %110 = getelementptr inbounds nuw i8, ptr %97, i64 143360
  %111 = getelementptr inbounds nuw i32, ptr %110, i64 %86
  %112 = load i32, ptr %111, align 4
  br label %113

113:
  %114 = phi i32 [ %112, %109 ], [ %107, %96 ]
  %115 = icmp eq i32 %114, %15
  br i1 %115, label %116, label %120

116:
  %117 = getelementptr inbounds nuw i32, ptr %3, i64 %86
  %118 = load i32, ptr %117, align 4
  %119 = or i32 %118, 1073741824
  store i32 %119, ptr %117, align 4
  br label %120

120:
  %121 = add nuw nsw i64 %86, 1
  br label %85

122:
  %123 = add i32 %15, 1
  br label %14

124:
  ret i1 %16
}

define internal fastcc void @wl.advance(ptr nonnull readonly captures(none) %0, i32 %1, i32 %2) unnamed_addr minsize noinline nounwind {
  %4 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %5 = load ptr, ptr %4, align 8
  %6 = getelementptr inbounds nuw i8, ptr %0, i64 76
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 80
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %12 = getelementptr inbounds nuw i8, ptr %0, i64 48
  %13 = getelementptr inbounds nuw i8, ptr %0, i64 64
  %14 = getelementptr inbounds nuw i8, ptr %0, i64 68
  %15 = getelementptr inbounds nuw i8, ptr %0, i64 72
  br label %16

16:
  %17 = phi i32 [ %1, %3 ], [ %90, %88 ]
  %18 = icmp ult i32 %17, %2
  br i1 %18, label %20, label %19

19:
  ret void

20:
  %21 = zext i32 %17 to i64
  %22 = getelementptr inbounds nuw i32, ptr %5, i64 %21
  %23 = load i32, ptr %22, align 4
  %24 = and i32 %23, 1073741823
  %25 = and i32 %23, -1073741824
  %26 = icmp eq i32 %25, 1073741824
  br i1 %26, label %27, label %88

27:
  %28 = load i32, ptr %6, align 4
  %29 = urem i32 %17, %28
  %30 = udiv i32 %17, %28
  %31 = load i32, ptr %7, align 8
  %32 = urem i32 %30, %31
  %33 = udiv i32 %30, %31
  %34 = sub i32 %2, %17
  br label %35

35:
  %36 = phi i32 [ 1, %27 ], [ %48, %47 ]
  %37 = add i32 %36, %29
  %38 = icmp ult i32 %37, %28
  br i1 %38, label %39, label %49

39:
  %40 = add i32 %36, %17
  %41 = icmp ult i32 %40, %2
  br i1 %41, label %42, label %49

42:
  %43 = zext i32 %40 to i64
  %44 = getelementptr inbounds nuw i32, ptr %5, i64 %43
  %45 = load i32, ptr %44, align 4
  %46 = icmp eq i32 %45, %23
  br i1 %46, label %47, label %49

47:
  %48 = add i32 %36, 1
  br label %35

49:
  %50 = phi i32 [ %34, %39 ], [ %36, %35 ], [ %36, %42 ]
  %51 = load ptr, ptr %8, align 8
  %52 = load i32, ptr %9, align 8
  %53 = icmp ult i32 %24, %52
  %54 = select i1 %53, i32 %24, i32 0
  %55 = zext nneg i32 %54 to i64
  %56 = getelementptr inbounds nuw %struct.phase, ptr %51, i64 %55
  %57 = load ptr, ptr %4, align 8
  %58 = getelementptr inbounds nuw i8, ptr %56, i64 8
  %59 = load ptr, ptr %58, align 8
  %60 = tail call fastcc i32 @wl.alike(ptr %57, ptr %59, i32 %17, i32 %50)
  %61 = add i32 %60, %29
  %62 = add i32 %32, 1
  %63 = add i32 %33, 1
  %64 = load ptr, ptr %0, align 8
  %65 = load ptr, ptr %10, align 8
  %66 = load ptr, ptr %11, align 8
  %67 = load ptr, ptr %12, align 8
  %68 = load i32, ptr %13, align 8
  %69 = load i32, ptr %14, align 4
  %70 = load i32, ptr %15, align 8
  %71 = tail call i32 %64(ptr %65, ptr %66, ptr %67, ptr %57, i32 %68, i32 %69, i32 %70, i32 %29, i32 %61, i32 %32, i32 %62, i32 %33, i32 %63, i1 zeroext false, i32 range(i32 0, -1) %24) nounwind
  %72 = freeze i32 %71
  %73 = load ptr, ptr %4, align 8
  %74 = getelementptr inbounds nuw i8, ptr %56, i64 16
  %75 = load ptr, ptr %74, align 8
  tail call fastcc void @wl.spread(ptr %73, ptr %75, i32 %17, i32 %60)
  %76 = icmp eq i32 %72, 0
  br i1 %76, label %88, label %77

77:
  %78 = zext i32 %60 to i64
  br label %79

79:
  %80 = phi i64 [ 0, %77 ], [ %87, %82 ]
  %81 = icmp eq i64 %80, %78
  br i1 %81, label %88, label %82

82:
  %83 = trunc nuw i64 %80 to i32
  %84 = add i32 %17, %83
  %85 = zext i32 %84 to i64
  %86 = getelementptr inbounds nuw i32, ptr %5, i64 %85
  store i32 %72, ptr %86, align 4
  %87 = add nuw nsw i64 %80, 1
  br label %79

88:
  %89 = phi i32 [ 1, %20 ], [ %60, %49 ], [ %60, %79 ]
  %90 = add i32 %89, %17
  br label %16
}

define internal fastcc zeroext i1 @wl.release_groups(ptr nonnull readonly captures(none) %0, i32 %1, i32 %2, i1 zeroext %3) unnamed_addr minsize noinline nounwind {
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %6 = load ptr, ptr %5, align 8
  %7 = zext i32 %1 to i64
  %8 = getelementptr inbounds nuw i32, ptr %6, i64 %7
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %11 = zext i32 %2 to i64
  br label %12

12:
  %13 = phi i64 [ %87, %84 ], [ 0, %4 ]
  %14 = phi i1 [ %85, %84 ], [ false, %4 ]
  %15 = phi i32 [ %86, %84 ], [ 0, %4 ]
  %16 = icmp eq i64 %13, %11
  br i1 %16, label %17, label %18

17:
  ret i1 %14

18:
  %19 = getelementptr inbounds nuw i32, ptr %8, i64 %13
  %20 = load i32, ptr %19, align 4
  %21 = load ptr, ptr %9, align 8
  %22 = load i32, ptr %10, align 8
  %23 = icmp ult i32 %20, %22
  %24 = select i1 %23, i32 %20, i32 0
  %25 = zext i32 %24 to i64
  %26 = getelementptr inbounds nuw %struct.phase, ptr %21, i64 %25
  %27 = trunc nuw i64 %13 to i32
  %28 = shl nuw i32 1, %27
  %29 = and i32 %15, %28
  %30 = icmp eq i32 %29, 0
  br i1 %30, label %31, label %84

31:
  %32 = getelementptr inbounds nuw i8, ptr %26, i64 32
  %33 = load i32, ptr %32, align 8
  %34 = icmp eq i32 %33, 2
  br i1 %34, label %35, label %84

35:
  %36 = phi i64 [ %67, %55 ], [ 0, %31 ]
  %37 = phi i32 [ %62, %55 ], [ 0, %31 ]
  %38 = phi i32 [ %66, %55 ], [ 0, %31 ]
  %39 = icmp eq i64 %36, %11
  br i1 %39, label %40, label %55

40:
  %41 = load ptr, ptr %5, align 8
  %42 = getelementptr inbounds nuw i8, ptr %41, i64 147456
  %43 = add i32 %1, %27
  %44 = zext i32 %43 to i64
  %45 = getelementptr inbounds nuw i32, ptr %42, i64 %44
  %46 = load i32, ptr %45, align 4
  %47 = icmp eq i32 %46, 0
  %48 = select i1 %47, i32 -1, i32 %46
  %49 = xor i32 %37, -1
  %50 = and i32 %38, %49
  %51 = and i32 %50, %48
  %52 = icmp eq i32 %51, 0
  %53 = select i1 %47, i1 %3, i1 false
  %54 = select i1 %52, i1 true, i1 %53
  br i1 %54, label %68, label %80

55:
  %56 = getelementptr inbounds nuw i32, ptr %8, i64 %36
  %57 = load i32, ptr %56, align 4
  %58 = icmp eq i32 %57, %20
  %59 = zext i1 %58 to i32
  %60 = trunc nuw i64 %36 to i32
  %61 = shl nuw i32 %59, %60
  %62 = or i32 %61, %37
  %63 = icmp ne i32 %57, -1
  %64 = zext i1 %63 to i32
  %65 = shl nuw i32 %64, %60
  %66 = or i32 %65, %38
  %67 = add nuw nsw i64 %36, 1
  br label %35

68:
  %69 = and i32 %48, %37
  tail call fastcc void @wl.resolve_warp(ptr %0, ptr %26, i32 %1, i32 %2, i32 %69)
  %70 = or i32 %20, 1073741824
  br label %71

71:
  %72 = phi i32 [ %69, %68 ], [ %79, %74 ]
  %73 = icmp eq i32 %72, 0
  br i1 %73, label %80, label %74

74:
  %75 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %72, i1 true)
  %76 = zext nneg i32 %75 to i64
  %77 = getelementptr inbounds nuw i32, ptr %8, i64 %76
  store i32 %70, ptr %77, align 4
  %78 = add i32 %72, -1
  %79 = and i32 %78, %72
  br label %71

80:
  %81 = phi i1 [ %14, %40 ], [ true, %71 ]
  %82 = phi i32 [ %37, %40 ], [ %69, %71 ]
  %83 = or i32 %82, %15
  br label %84

84:
  %85 = phi i1 [ %81, %80 ], [ %14, %31 ], [ %14, %18 ]
  %86 = phi i32 [ %83, %80 ], [ %15, %31 ], [ %15, %18 ]
  %87 = add nuw nsw i64 %13, 1
  br label %12
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

define internal fastcc void @wl.scatter(ptr nonnull readonly captures(none) %0, i32 range(i32 1, -1) %1) unnamed_addr minsize noinline nounwind {
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 88
  %4 = or i32 %1, 1073741824
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 56
  br label %6

6:
  %7 = phi i64 [ %15, %12 ], [ 0, %2 ]
  %8 = load i32, ptr %3, align 8
  %9 = zext i32 %8 to i64
  %10 = icmp samesign ult i64 %7, %9
  br i1 %10, label %12, label %11

11:
  tail call fastcc void @wl.advance(ptr %0, i32 0, i32 %8)
  ret void

12:
  %13 = load ptr, ptr %5, align 8
  %14 = getelementptr inbounds nuw i32, ptr %13, i64 %7
  store i32 %4, ptr %14, align 4
  %15 = add nuw nsw i64 %7, 1
  br label %6
}

declare i32 @bcmp(ptr captures(none), ptr captures(none), i64) nocallback nofree nounwind willreturn memory(argmem: read)

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

define internal { i64, i64 } @wl.find(ptr readonly captures(none) %0, ptr readonly captures(none) %1, i64 %2) mustprogress nofree noinline norecurse nosync nounwind willreturn memory(read, inaccessiblemem: none, target_mem0: none, target_mem1: none) {
  %4 = alloca [3 x %struct.range], align 16
  %5 = tail call { i64, i64 } @wl.allocation(ptr %0, ptr poison, i64 %2) nounwind willreturn memory(read)
  %6 = extractvalue { i64, i64 } %5, 1
  %7 = icmp eq i64 %6, 0
  br i1 %7, label %8, label %41

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
  %26 = add nuw nsw i64 %29, 1
  %27 = icmp eq i64 %26, 3
  br i1 %27, label %36, label %28

28:
  %29 = phi i64 [ 0, %8 ], [ %26, %25 ]
  %30 = getelementptr inbounds nuw %struct.range, ptr %4, i64 %29
  %31 = load i64, ptr %30, align 16
  %32 = sub i64 %2, %31
  %33 = getelementptr inbounds nuw i8, ptr %30, i64 8
  %34 = load i64, ptr %33, align 8
  %35 = icmp ult i64 %32, %34
  br i1 %35, label %36, label %25

36:
  %37 = phi i64 [ 0, %25 ], [ %34, %28 ]
  %38 = phi i64 [ -1, %25 ], [ %31, %28 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %4) nounwind
  %39 = insertvalue { i64, i64 } poison, i64 %38, 0
  %40 = insertvalue { i64, i64 } %39, i64 %37, 1
  br label %41

41:
  %42 = phi { i64, i64 } [ %40, %36 ], [ %5, %3 ]
  ret { i64, i64 } %42
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
