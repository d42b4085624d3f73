#!/usr/bin/env bash
# fabric.sh N: in the guest, as root, N RDMA devices rxe0 … on one switch. Device rxeI is on
# interface roceI (10.77.0.I+1/24), whose other end swI hangs on a bridge in the namespace `fabric`.
# Faults are made there, for example
#   ip netns exec fabric tc qdisc add dev sw1 root netem limit 20000 loss 1%
#
# All roceI are in the initial namespace, since rdma_rxe before Linux 7 speaks UDP there alone;
# rules of routing make what goes from one to another leave by the wire, although this host has both
# addresses. So each rank has to name its own device. The rendezvous goes over 127.0.0.1.
set -euo pipefail
count=$1
mtu=4200  # room for an RDMA MTU of 4096 and its headers

# A veth hands over through a backlog whose 1000 packets a few queue pairs exceed: each drop would
# cost a retransmission.
echo 100000 >/proc/sys/net/core/netdev_max_backlog

here=$(mktemp) there=$(mktemp)
trap 'rm -f "$here" "$there"' EXIT
ip netns add fabric
{
  echo "link add brroce mtu $mtu type bridge forward_delay 0"
  echo "link set brroce up"
} >"$there"
for ((i = 0; i < count; i++)); do
  printf 'link add roce%d mtu %d address 02:77:00:00:00:%02x' "$i" "$mtu" "$i" >>"$here"
  printf ' type veth peer name sw%d mtu %d netns fabric\n' "$i" "$mtu" >>"$here"
  printf 'link set sw%d master brroce up\n' "$i" >>"$there"
done
ip -batch "$here"
ip -n fabric -batch "$there"

for every in all default; do
  echo 0 >/proc/sys/net/ipv4/conf/$every/rp_filter
  echo 1 >/proc/sys/net/ipv4/conf/$every/accept_local
  echo 1 >/proc/sys/net/ipv4/conf/$every/arp_ignore
  echo 2 >/proc/sys/net/ipv4/conf/$every/arp_announce
done
# The table `local` is looked up last; before it one table for each interface, by which rxe and the
# resolution of addresses go: all but its own address is on the wire.
{
  for ((i = 0; i < count; i++)); do
    echo "addr add 10.77.0.$((i + 1))/24 dev roce$i"
    echo "link set roce$i up"
    echo "route add 10.77.0.0/24 dev roce$i src 10.77.0.$((i + 1)) table $((100 + i))"
    echo "route add local 10.77.0.$((i + 1)) dev roce$i table $((100 + i))"
    echo "rule add pref 10 oif roce$i lookup $((100 + i))"
  done
  echo "rule add pref 100 lookup local"
  echo "rule del pref 0 lookup local"
} >"$here"
ip -batch "$here"
for ((i = 0; i < count; i++)); do
  echo 0 >"/proc/sys/net/ipv4/conf/roce$i/rp_filter"
  echo 1 >"/proc/sys/net/ipv4/conf/roce$i/accept_local"
  rdma link add "rxe$i" type rxe netdev "roce$i"
done

# IPv4 GIDs appear some time later.
has_gid() {
  grep -qs ':ffff:0a4d:' "/sys/class/infiniband/rxe$1/ports/1/gids/"[0-7]
}
for ((i = 0; i < count; i++)); do
  for ((try = 0; try < 100; try++)); do
    ! has_gid "$i" || continue 2
    sleep 0.1
  done
  echo "soft_roce: rxe$i got no IPv4 GID" >&2
  exit 1
done
