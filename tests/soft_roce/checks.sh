#!/usr/bin/env bash
# checks.sh quick|full|bench|results|calibrate|faults BUILD [SANITIZED_BUILD]: in the guest, after
# fabric.sh 4, what real ranks over soft-RoCE must do. Each check prints `ok NAME` or `FAILED NAME`
# and, where it failed, what was seen; the last line is `N passed, N failed`. Times are never
# judged, but for deadlines, which are wide.
set -uo pipefail
extent=$1 build=$2 sanitized=${3:-}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
program=$build/gradhaul
scenario=$here/ring.yaml
seen=$(mktemp)
passed=0 failed=0

# conclude NAME 0|1
conclude() {
  if (($2 == 0)); then
    passed=$((passed + 1))
    echo "ok $1 (${SECONDS} s)"
  else
    failed=$((failed + 1))
    echo "FAILED $1 (${SECONDS} s)"
    tail -n 25 "$seen" | cut -c1-1000 | sed 's/^/    /'
  fi
}

# measure RANKS [ARGUMENT…]: its output to $seen, its exit status returned. A killed or cut peer is
# given up after (6 + 1) * 67 ms; at 7, rxe would retry for ever. A busy host has ranks begin long
# after each other.
measure() {
  local ranks=$1
  shift
  [[ " $* " == *" --timeout "* ]] || set -- "$@" --timeout 90s
  timeout -k 5 120 "$program" measure "$scenario" --backend verbs --ranks "$ranks" \
    --rdma "devices==rxe{rank}" --rdma timeout=14 --rdma retry=6 "$@" >"$seen" 2>&1
}

# Every row has its count of wrong values in columns 9 and 13: none may be wrong, none missing.
# rows N: that many.
all_right() {
  awk -v rows="$1" '/^ / {++n; if ($9 != "0" || ($13 != "0" && $13 != "N/A")) bad = 1}
                    END {exit bad || n != rows}' "$seen"
}

# right NAME ROWS RANKS [ARGUMENT…]: comes to the right result.
right() {
  local name=$1 rows=$2 good=1
  shift 2
  # Nothing is done to them, but on a busy host they may answer late.
  if measure "$@" --iterations 1 --warmup 0 --rdma timeout=18; then all_right "$rows" && good=0; fi
  conclude "$name" "$good"
}

# ends NAME STATUS SECONDS PATTERN COMMAND…: ends with this status within so long, and says so.
ends() {
  local name=$1 expected=$2 most=$3 pattern=$4 good=1 start=$SECONDS status
  shift 4
  "$@"
  status=$?
  echo "exit status $status after $((SECONDS - start)) s" >>"$seen"
  if ((status == expected && SECONDS - start <= most)) && grep -Eq -- "$pattern" "$seen"; then
    good=0
  fi
  if pgrep -f -- '--started-by-measure' >/dev/null; then
    good=1
    echo "ranks are left over" >>"$seen"
    pgrep -af -- '--started-by-measure' >>"$seen"
  fi
  conclude "$name" "$good"
  ((good)) || grep -Em1 -- "$pattern" "$seen" | cut -c1-1000 | sed 's/^/    /'
}

impair() { ip netns exec fabric tc qdisc replace dev "$1" root netem limit 20000 "${@:2}"; }
heal() { ip netns exec fabric tc qdisc del dev "$1" root; }

endless=(--set 'workload.size=[64KiB]' --iterations 1000000 --timeout 60s)

packets_sent() { cat "/sys/class/infiniband/$1/ports/1/hw_counters/sent_pkts"; }

# under_way DEVICE COUNT PROCESS: until it has sent so many packets more than COUNT: a collective
# runs. Not for longer than the process does.
under_way() {
  while kill -0 "$3" 2>/dev/null; do
    (($(packets_sent "$1") < $2 + 500)) || return 0
    sleep 0.1
  done
  echo "nothing is sent by $1" >>"$seen"
  return 1
}

killed_rank() {
  local before run
  before=$(packets_sent rxe2)
  measure 4 "${endless[@]}" &
  run=$!
  under_way rxe2 "$before" "$run" && kill -KILL "$(pgrep -f -- '--started-by-measure --rank 2 ')"
  wait "$run"
}

cut_path() {
  local before run status
  before=$(packets_sent rxe1)
  measure 3 "${endless[@]}" &
  run=$!
  under_way rxe1 "$before" "$run" && impair sw1 loss 100%
  wait "$run"
  status=$?
  heal sw1
  return "$status"
}

# Where the kernel still knew the address, ranks would come as far as their first write.
unreachable() {
  impair sw1 loss 100%
  ip neigh flush all
  measure 2 --iterations 1
  local status=$?
  heal sw1
  return "$status"
}

# Two ranks by hand that were told otherwise.
differing() {
  local by_hand=("$program" measure "$scenario" --backend verbs --ranks 2
                 --rendezvous 127.0.0.1:4711 --iterations 1 --timeout 60s)
  timeout 90 "${by_hand[@]}" --rank 1 --rdma devices==rxe1 --set communication.slot_size=32KiB \
    >/dev/null 2>&1 &
  timeout 90 "${by_hand[@]}" --rank 0 --rdma devices==rxe0 >"$seen" 2>&1
  local status=$?
  wait
  return "$status"
}

other_gid() {
  local by_hand=("$program" measure "$scenario" --backend verbs --ranks 2
                 --rendezvous 127.0.0.1:4712 --iterations 1 --timeout 60s)
  timeout 90 "${by_hand[@]}" --rank 1 --rdma devices==rxe1 --rdma gid_index=0 >/dev/null 2>&1 &
  timeout 90 "${by_hand[@]}" --rank 0 --rdma devices==rxe0 --rdma gid_index=1 >"$seen" 2>&1
  local status=$?
  wait
  return "$status"
}

broken_join() { timeout 90 "$build/broken_join" "$1" rxe0 rxe1 >"$seen" 2>&1; }

results() {
  right "2 ranks, 1 queue pair, fp32" 5 2 --set 'workload.size=[4B,32B,1KiB,64KiB,1MiB]'
  right "2 ranks, 4 queue pairs, uint8, all that arrives is read back" 2 2 --rdma flush=on \
    --set 'workload.size=[4KiB,1MiB]' --set workload.datatype=uint8 \
    --set communication.queue_pairs=4
  right "2 ranks, 2 queue pairs, int8 from 1 B, immediates apart from their data" 4 2 \
    --rdma immediate=apart --set 'workload.size=[1B,7B,4KiB,1MiB]' \
    --set workload.datatype=int8 --set communication.queue_pairs=2
  right "2 ranks, 4 queue pairs, bf16, writes split, up to 16 MiB" 2 2 \
    --set 'workload.size=[2B,16MiB]' --set workload.datatype=bf16 --rdma split=yes \
    --set communication.queue_pairs=4 --set communication.slot_size=512KiB
  right "4 ranks, 8 queue pairs, fp16, 2 channels" 2 4 --set 'workload.size=[2B,1MiB]' \
    --set workload.datatype=fp16 --set communication.queue_pairs=8 --set communication.channels=2
  right "4 ranks, 1 queue pair, int32, all_to_all" 1 4 --set workload.collective=all_to_all \
    --set workload.datatype=int32 --set 'workload.size=[256KiB]'
  right "4 ranks, 4 queue pairs, tree, completion events" 1 4 --rdma completion=events \
    --set communication.algorithm=double_binary_tree --set communication.queue_pairs=4 \
    --set 'workload.size=[256KiB]'
}

# The contract that every transport keeps (tests/conformance), over real verbs: in its quick form on
# a sample of what the full one goes through.
conformance() {
  local good=1
  timeout -k 5 "$1" "$build/verbs_conformance" rxe0 rxe1 rxe2 rxe3 --gtest_brief=1 \
    "--gtest_filter=$2" >"$seen" 2>&1 && good=0
  conclude "the conformance suite over verbs" "$good"
}
some='-*Every*:*CompletesEachWrite*'

# From one element on, which of the bytes is 1 B.
every_result() {
  local ranks pairs type element
  for ranks in 2 4; do
    for pairs in 1 4 8; do
      for type in fp32 fp16 bf16 int32 int8 uint8; do
        case $type in
          *16) element=2 ;;
          *8) element=1 ;;
          *) element=4 ;;
        esac
        right "$ranks ranks, $pairs queue pairs, $type, $element B to 16 MiB" 6 "$ranks" \
          --set "workload.datatype=$type" --set "communication.queue_pairs=$pairs" \
          --set "workload.size=[${element}B,32B,1KiB,64KiB,1MiB,16MiB]" \
          --set communication.slot_size=512KiB
      done
    done
  done
}

lossy() {
  local good=1
  impair sw1 loss 1%
  if measure 2 --set 'workload.size=[4MiB]' --iterations 3 --warmup 0 --timeout 100s; then
    all_right 1 && grep -Eq 'Note: rank [01] counted .*(retry|seq|duplicate)' "$seen" && good=0
  fi
  heal sw1
  conclude "1 % loss: right, and its retransmissions are told" "$good"
}

# MB/s of ib_write_bw from rxe1 to rxe0: PAIRS PORT.
perftest() {
  ib_write_bw -d rxe0 -x 1 -s 1048576 -q "$1" -n $((100 / $1)) -p "$2" >/dev/null 2>&1 &
  sleep 3
  ib_write_bw -d rxe1 -x 1 -s 1048576 -q "$1" -n $((100 / $1)) -p "$2" 127.0.0.1 2>/dev/null |
    awk '$1 == 1048576 {print 1.048576 * $4}'
  wait
}

# What two ranks get beside ib_write_bw, over the same devices and with as many queue pairs, turn by
# turn: the medians of each, and of the ratios of the turns. For information: how fast an emulated
# machine is depends on what else its host does.
side_by_side() {
  local pairs=$1 try ours theirs
  for ((try = 0; try < 5; ++try)); do
    ours=$("$build/pair_write" rxe1 rxe0 1048576 "$pairs" 100 2>/dev/null | awk '{print $3}')
    theirs=$(perftest "$pairs" $((18600 + 10 * pairs + try)))
    echo "${ours:-0} ${theirs:-0}"
  done | awk -v q="$pairs" '
    function median(values, count,    i, j, kept) {
      for (i = 2; i <= count; ++i) {
        kept = values[i]
        for (j = i - 1; j >= 1 && values[j] > kept; --j) values[j + 1] = values[j]
        values[j + 1] = kept
      }
      return values[int((count + 1) / 2)]
    }
    $1 > 0 && $2 > 0 {++n; a[n] = $1; b[n] = $2; r[n] = $1 / $2}
    END {
      if (n) {
        printf "pair write, 1 MiB, %d queue pairs: %.1f MB/s, ib_write_bw %.1f MB/s, ratio %.2f\n",
               q, median(a, n), median(b, n), median(r, n)
      } else {
        printf "pair write, 1 MiB, %d queue pairs: no turn came to its end\n", q
      }
    }'
}

faults() {
  lossy
  ends "a rank killed: all end, and it is blamed" 1 100 'the run failed: rank 2 .*signal 9' \
    killed_rank
  ends "a path cut for good: all end, and rank 1 is blamed" 1 100 \
    'run failed: rank (1: |[02]: .*(to|from) rank 1 ).*retry counter exceeded' cut_path
  ends "a peer that can't be reached" 1 110 'refuses INIT -> RTR: .*dgid 10\.77\.0\.' unreachable
  ends "slot sizes that differ" 2 90 'communication.slot_size' differing
  ends "GIDs that do not match" 1 90 'choose gid_index so that both are' other_gid
  ends "a wrong rkey" 0 90 'rank 0: .*remote access error' broken_join rkey
  ends "a slot shorter than what is written" 0 90 \
    'rank 0: .*remote (access|invalid request) error' broken_join length
}

# keep NAME COMMAND…: its table, kept beside the checks; its output to $seen, its exit status
# returned.
keep() {
  local status
  timeout -k 5 150 "${@:2}" >"$seen" 2>&1
  status=$?
  echo "--- $1"
  grep -v '^#$' "$seen" | cut -c1-160
  return "$status"
}

# Whether each part fits the next: single writes are measured, the model is told of them, predicts a
# ring of four, and that is compared with the ring. No check of the model: here four ranks share the
# processors that one write had for itself, and all are emulated.
plumbing() {
  local good=1 made=/tmp/calibrated.yaml sizes='workload.size=[4KiB,64KiB,1MiB]'
  local verbs=(--backend verbs --ranks 4 --rdma "devices==rxe{rank}" --rdma timeout=18
               --timeout 90s)
  rm -f "$made"
  if keep "calibrate, 4 ranks" "$program" calibrate "${verbs[@]}" --sizes 8B,64KiB \
       --queue-pairs 1,2 --depths 1,8 --messages 32 --iterations 5 --write /tmp/nic.yaml \
       --write-scenario "$made" && grep -q '^ registration ' "$seen" &&
     keep "the ring, predicted" "$program" predict "$made" --set "$sizes" \
       --json /tmp/predicted.json &&
     keep "the ring, measured" "$program" measure "$made" --set "$sizes" "${verbs[@]}" \
       --iterations 3 --json /tmp/measured.json; then
    keep "the two compared" "$program" compare /tmp/predicted.json /tmp/measured.json \
      --tolerance 50%
    # How near they are is told and not judged.
    case $? in 0 | 3) good=0 ;; esac
  fi
  conclude "the plumbing from calibrate to compare" "$good"
}

# Which rungs and pairs there are, not how fast they are.
ladder_and_pairs() {
  local good=1 status
  measure 4 --ladder --rdma timeout=18 --iterations 2 --set 'workload.size=[1MiB]'
  status=$?
  echo "--- ladder"
  cut -c1-160 "$seen"
  ((status == 0)) && grep -q 'ring step' "$seen" && good=0
  conclude "a ladder of 4 ranks" "$good"
  good=1
  measure 4 --pairs --rdma timeout=18 --iterations 2 --set 'workload.size=[1MiB]'
  status=$?
  echo "--- pairs"
  cut -c1-160 "$seen"
  ((status == 0 || status == 3)) && grep -q 'node3' "$seen" && grep -q 'Median' "$seen" && good=0
  conclude "all pairs of 4 nodes" "$good"
}

# told_pairs [ARGUMENT…]: what doctor says of queue pairs, without rights.
told_pairs() {
  setpriv --reuid=65534 --regid=65534 --clear-groups "$program" doctor "$@" 2>&1 |
    grep -E '^ +(seen +)?[^ ]+: [0-9]+ queue pairs? in|queue pairs of' | sed 's/^ *\(seen\)\? *//'
}

# What stays in RESET, INIT or ERR is found, as it is in what rdma prints of it; a pair for
# datagrams in RESET, and what is there without them, are not.
stuck_queue_pairs() {
  local good=1 state owner said tree
  tree=$(mktemp -d)
  mkdir "$tree/sys" "$tree/rdma"
  chmod 755 "$tree"
  told_pairs >"$seen"
  coproc stuck { exec "$build/stuck_pairs" rxe1 2>&1; }
  # shellcheck disable=SC2154  # coproc sets it
  owner=$stuck_PID
  read -r -t 60 said <&"${stuck[0]}"
  rdma resource show qp >"$tree/rdma/qp"
  {
    told_pairs
    told_pairs --sysfs "$tree"
  } >"$tree/told"
  kill "$owner"
  wait "$owner" 2>/dev/null
  for state in ERR INIT RESET ERR INIT RESET; do
    echo "rxe1: 1 queue pair in $state, of stuck_pairs, pid $owner"
  done >"$tree/expected"
  [[ ! -s $seen ]] && cmp -s "$tree/told" "$tree/expected" && good=0
  { echo "$said"; cat "$tree/rdma/qp" "$tree/told"; } >>"$seen"
  rm -rf "$tree"
  conclude "queue pairs that are stuck, by state and owner" "$good"
}

case $extent in
  bench)
    for pairs in 1 4; do side_by_side "$pairs"; done
    ;;
  calibrate)
    plumbing
    ladder_and_pairs
    ;;
  results) results ;;
  faults)
    stuck_queue_pairs
    faults
    ;;
  quick)
    stuck_queue_pairs
    results
    conformance 240 "$some"
    plumbing
    ladder_and_pairs
    faults
    ;;
  full)
    stuck_queue_pairs
    every_result
    results
    conformance 1800 '*'
    plumbing
    ladder_and_pairs
    faults
    for pairs in 1 4; do side_by_side "$pairs"; done
    ;;
esac
if [[ -n $sanitized && $extent != bench ]]; then
  program=$sanitized/gradhaul
  right "2 ranks with AddressSanitizer and UndefinedBehaviorSanitizer" 1 2 \
    --set 'workload.size=[64KiB]' --set communication.queue_pairs=2
fi
rm -f "$seen"
echo "$passed passed, $failed failed"
((failed == 0))
