#!/bin/busybox sh
# The first process that the kernel starts: mounts the machine's files
# read-only, with a writable layer in memory.
busybox=/bin/busybox
$busybox mount -t proc proc /proc
$busybox mount -t sysfs sys /sys
$busybox mount -t devtmpfs dev /dev
for module in @MODULES@; do $busybox insmod /modules/$module.ko; done
$busybox mount -t 9p -o trans=virtio,version=9p2000.L,cache=loose,ro,msize=512000 root /lower
$busybox mount -t tmpfs -o size=1g upper /upper
$busybox mkdir /upper/files /upper/work
$busybox mount -t overlay -o lowerdir=/lower,upperdir=/upper/files,workdir=/upper/work root /new
$busybox mount --move /dev /new/dev
$busybox mount --move /proc /new/proc
$busybox mount --move /sys /new/sys
exec $busybox switch_root /new @GUEST@
