#!/usr/bin/env bash
# Sets up the rest of a machine around one command: file systems, a control group, a host name, a
# loopback interface.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
parameter() { sed -n "s/.*burst\.$1=\([^ ]*\).*/\1/p" /proc/cmdline; }
command=$(cat "$(parameter work)/command")
for place in /tmp /run /dev/shm; do mkdir -p $place && mount -t tmpfs tmpfs $place; done
chmod 1777 /tmp /dev/shm
mkdir -p /dev/pts /lib/modules && mount -t devpts pts /dev/pts
ln -sfn /proc/self/fd /dev/fd
mount --bind "$(parameter kernel)/lib/modules" /lib/modules
modprobe -a ipv6 nf_tables nft_tproxy nft_socket
mount -t cgroup2 none /sys/fs/cgroup
mkdir /sys/fs/cgroup/init
echo $$ >/sys/fs/cgroup/init/cgroup.procs
echo "+cpu +memory +pids" >/sys/fs/cgroup/cgroup.subtree_control
hostname test && echo "127.0.0.1 localhost test" >/etc/hosts
ip link set lo up
bash -c "$command"
echo "the command has ended with $?"
echo o >/proc/sysrq-trigger
sleep 60
