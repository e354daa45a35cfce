//! Faults within a trial: made, stamped, tolerated, and undone, on real transports.

use crate::harness::{Place, all_children, failure, is_alive, send, wait_for};
use serde_json::Value;
use std::path::PathBuf;

mod slow;

/// A stream of 200 Hz with one fault, without its stacks.
fn suite(fault: &str, more: &str) -> String {
    format!(
        "title = \"outages\"\n\
         [defaults]\n\
         trials = 1\n\
         rate = \"200 Hz\"\n\
         wait = \"block\"\n\
         cpus = \"none\"\n\
         warmup = \"100 ms\"\n\
         window = \"2 s\"\n\
         drain = \"500 ms\"\n\
         deadline = \"20 s\"\n\
         {more}\n\
         [[experiment]]\n\
         name = \"outage\"\n\
         workload = \"stream\"\n\
         stacks = \"all\"\n\
         [[experiment.fault]]\n\
         at = \"300 ms\"\n\
         {fault}\n"
    )
}

/// The one trial of the stack under the fault, which ended as it should.
#[track_caller]
fn trial(stack: &str, fault: &str, more: &str, arguments: &[&str]) -> Value {
    let place = Place::new();
    place.suite("outages", &suite(fault, more));
    let run = [
        "run", "outages", "--stack", stack, "--out", "out", "--quiet",
    ];
    place.run(&[&run[..], arguments].concat()).with_code(0);
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
    let mut trials = place.trials("out");
    trials.retain(|t| t["faults"].is_array());
    let [trial] = trials.as_slice() else {
        panic!("{trials:#?}")
    };
    assert_eq!(trial["outcome"], "completed", "{trial:#}");
    trial.clone()
}

/// From the start of the fault until its end, at the least and at the most that the two readings of each allow, in ns.
#[track_caller]
fn lasted(trial: &Value) -> (i64, i64) {
    let at = |which: &str, reading: usize| {
        let made = &trial["faults"][0];
        let at = made[which][reading].as_i64();
        at.unwrap_or_else(|| panic!("{made:#}"))
    };
    assert!(at("begin", 0) <= at("begin", 1) && at("end", 0) <= at("end", 1));
    (at("end", 0) - at("begin", 1), at("end", 1) - at("begin", 0))
}

#[track_caller]
fn outage(trial: &Value) -> &Value {
    match trial["outages"].as_array().map(Vec::as_slice) {
        Some([outage]) => outage,
        _ => panic!("{trial:#}"),
    }
}

#[track_caller]
fn number(value: &Value, key: &str) -> u64 {
    value[key]
        .as_u64()
        .unwrap_or_else(|| panic!("no {key} in {value:#}"))
}

const STOPPED: &str = "what = \"stop\"\nfor = \"300 ms\"";
const RESTARTED: &str = "what = \"restart\"\nfor = \"200 ms\"";

#[test]
fn nothing_is_a_control_without_an_outage() {
    let fault = "what = \"nothing\"\nwho = \"receiver\"\nfor = \"200 ms\"";
    let trial = trial("uds-dgram", fault, "", &[]);
    assert!(lasted(&trial).1 >= 200_000_000, "{trial:#}");
    assert_eq!(number(outage(&trial), "lost"), 0, "{trial:#}");
    assert_eq!(number(&trial["counts"], "received"), 400);
}

#[test]
fn a_receiver_that_stood_still_gets_what_waited_for_it() {
    for stack in ["uds-dgram", "udp", "pipe"] {
        let trial = trial(stack, &format!("who = \"receiver\"\n{STOPPED}"), "", &[]);
        let (least, most) = lasted(&trial);
        assert!(most >= 300_000_000, "{stack}: {trial:#}");
        let outage = outage(&trial);
        assert_eq!(number(outage, "lost"), 0, "{stack}: {trial:#}");
        // It can have nothing while it stands still, and has all of it at once after that.
        assert!(number(outage, "silence") as i64 >= least - 5_000_000);
        assert!(
            number(outage, "oldest") >= 200_000_000,
            "{stack}: {trial:#}"
        );
        let who = trial["faults"][0]["who"].as_str().unwrap();
        assert!(who.starts_with("agent (sink 1)"), "{who}");
    }
}

#[test]
fn a_sender_that_stood_still_sends_late_what_was_due() {
    for stack in ["uds-dgram", "udp", "pipe"] {
        let trial = trial(stack, &format!("who = \"sender\"\n{STOPPED}"), "", &[]);
        let outage = outage(&trial);
        assert_eq!(number(outage, "lost"), 0, "{stack}: {trial:#}");
        assert!(
            number(outage, "oldest") >= 200_000_000,
            "{stack}: {trial:#}"
        );
        assert_eq!(number(&trial["counts"], "received"), 400);
    }
}

#[test]
fn a_receiver_is_started_anew() {
    // What is connected gives up a reader that is gone; a datagram reaches whoever has the port, and iceoryx2 finds the new one.
    for (stack, comes_back) in [
        ("uds-dgram", false),
        ("udp", true),
        ("pipe", false),
        ("iceoryx2", true),
    ] {
        let trial = trial(stack, &format!("who = \"receiver\"\n{RESTARTED}"), "", &[]);
        assert!(lasted(&trial).1 >= 200_000_000, "{stack}: {trial:#}");
        let outage = outage(&trial);
        assert_eq!(
            outage["recovery"].is_u64(),
            comes_back,
            "{stack}: {trial:#}"
        );
        // One is due every 5 ms while nobody is there: it is lost, or it was sent late, when somebody was there again.
        let late = number(&trial["counts"], "late");
        assert!(number(outage, "lost") + late >= 30, "{stack}: {trial:#}");
        assert!(number(outage, "lost") > 0, "{stack}: {trial:#}");
    }
}

#[test]
fn a_sender_that_is_started_anew_goes_on_with_the_next_message() {
    for stack in ["uds-dgram", "udp"] {
        let trial = trial(stack, &format!("who = \"sender\"\n{RESTARTED}"), "", &[]);
        let outage = outage(&trial);
        assert!(outage["recovery"].is_u64(), "{stack}: {trial:#}");
        // What was due meanwhile was never sent.
        assert!(number(outage, "lost") >= 30, "{stack}: {trial:#}");
        assert_eq!(number(outage, "repeated"), 0, "{stack}: {trial:#}");
    }
}

#[test]
fn a_sender_that_ends_for_good_leaves_its_receivers_deaf() {
    for how in ["kill", "crash", "leave"] {
        let fault = format!("who = \"sender\"\nwhat = \"{how}\"");
        let trial = trial("uds-dgram", &fault, "", &[]);
        let made = &trial["faults"][0];
        assert_eq!(made["begin"], made["end"], "{how}: {trial:#}");
        assert_eq!(outage(&trial)["recovery"], Value::Null, "{how}: {trial:#}");
    }
}

#[test]
fn a_process_crashes_where_none_may_leave_a_core_file() {
    let place = Place::new();
    place.suite("outages", &suite("who = \"sender\"\nwhat = \"crash\"", ""));
    // Without CAP_SYS_RESOURCE nobody raises it again.
    place
        .shell("ulimit -c 0\ndyno run outages --files . --stack uds-dgram --repeats 0 --out out --quiet")
        .with_code(0);
    assert_eq!(of_mine(&place)["outcome"], "completed");
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn who_is_killed_for_good_counts_in_no_figure_and_the_others_go_on() {
    let fault = "who = \"receiver 2\"\nwhat = \"kill\"";
    let trial = trial("udp", fault, "topology = \"1-2\"", &[]);
    let outage = outage(&trial);
    assert_eq!(number(outage, "lost"), 0, "{trial:#}");
    assert_eq!(outage["receiver"], 1, "{trial:#}");
}

#[test]
fn who_leaves_in_order_joins_again() {
    for who in ["sender", "receiver"] {
        let fault = format!("who = \"{who}\"\nwhat = \"rejoin\"\nfor = \"200 ms\"");
        let trial = trial("udp", &fault, "", &[]);
        assert!(lasted(&trial).1 >= 200_000_000, "{who}: {trial:#}");
        assert!(outage(&trial)["recovery"].is_u64(), "{who}: {trial:#}");
        assert!(number(outage(&trial), "lost") >= 30, "{who}: {trial:#}");
        // It ended as it was asked to.
        assert!(
            !trial.to_string().contains("ended-after-fault"),
            "{who}: {trial:#}"
        );
    }
}

#[test]
fn all_of_a_side_start_at_once() {
    let fault = "who = \"receiver\"\nwhat = \"storm\"\nfor = \"300 ms\"";
    let trial = trial("udp", fault, "topology = \"1-3\"", &[]);
    let made = trial["faults"].as_array().unwrap();
    assert_eq!(made.len(), 3, "{trial:#}");
    assert!(made.iter().all(|made| made["fault"] == 0), "{trial:#}");
    let outages = trial["outages"].as_array().unwrap();
    assert_eq!(outages.len(), 3, "{trial:#}");
    for outage in outages {
        assert!(outage["recovery"].is_u64(), "{trial:#}");
    }
}

#[test]
fn all_processes_of_a_host_stand_still_at_once() {
    let fault = "who = \"receiver\"\nwhat = \"freeze\"\nfor = \"300 ms\"";
    let trial = trial("udp", fault, "", &[]);
    let outage = outage(&trial);
    assert_eq!(number(outage, "lost"), 0, "{trial:#}");
    assert!(number(outage, "oldest") >= 200_000_000, "{trial:#}");
}

/// The one trial of calls, due every 5 ms and lost after 100 ms.
#[track_caller]
fn calls(stack: &str, fault: &str) -> Value {
    let place = Place::new();
    let call = "workload = \"call\"\ngap = \"5 ms\"\ntimeout = \"100 ms\"";
    let text = suite(fault, "").replace("workload = \"stream\"", call);
    place.suite("outages", &text);
    let run = [
        "run", "outages", "--stack", stack, "--out", "out", "--quiet",
    ];
    place.run(&run).with_code(0);
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
    let trial = of_mine(&place);
    assert_eq!(trial["outcome"], "completed", "{trial:#}");
    trial
}

/// Whether the caller told of the fault by a call without an answer.
fn is_told_by_call(trial: &Value) -> bool {
    let told = trial["detections"].as_array().into_iter().flatten();
    told.into_iter()
        .any(|d| d["by"] == "call" && d["participant"] == 0)
}

#[test]
fn calls_without_an_answer_are_lost_and_the_caller_goes_on() {
    for stack in ["uds-dgram", "udp"] {
        let trial = calls(stack, &format!("who = \"receiver\"\n{STOPPED}"));
        let outage = outage(&trial);
        // Two have no time to be answered, of which the first may be due before the fault; those that were due meanwhile are late.
        assert!(number(&trial["counts"], "lost") >= 2, "{stack}: {trial:#}");
        assert!(number(outage, "lost") >= 1, "{stack}: {trial:#}");
        assert!(
            number(outage, "oldest") >= 100_000_000,
            "{stack}: {trial:#}"
        );
        assert!(outage["recovery"].is_u64(), "{stack}: {trial:#}");
        assert!(is_told_by_call(&trial), "{stack}: {trial:#}");
        assert!(
            trial["distributions"]["rtt_ns"].is_object(),
            "{stack}: {trial:#}"
        );
    }
}

#[test]
fn a_provider_or_a_caller_is_started_anew() {
    let trial = calls("udp", &format!("who = \"receiver\"\n{RESTARTED}"));
    assert!(outage(&trial)["recovery"].is_u64(), "{trial:#}");
    assert!(number(outage(&trial), "lost") >= 1, "{trial:#}");
    let trial = calls("udp", &format!("who = \"sender\"\n{RESTARTED}"));
    assert!(outage(&trial)["recovery"].is_u64(), "{trial:#}");
    // One is due every 5 ms while nobody calls.
    assert!(number(outage(&trial), "lost") >= 30, "{trial:#}");
}

#[test]
fn a_caller_is_deaf_whose_provider_is_gone() {
    let trial = calls("udp", "who = \"receiver\"\nwhat = \"kill\"");
    assert_eq!(outage(&trial)["recovery"], Value::Null, "{trial:#}");
    assert_eq!(outage(&trial)["receiver"], 0, "{trial:#}");
}

#[test]
fn a_newcomer_joins_and_leaves_while_others_run() {
    for stack in ["udp", "iceoryx2"] {
        let fault = "who = \"receiver 2\"\nwhat = \"join\"\nfor = \"500 ms\"";
        let trial = trial(stack, fault, "topology = \"1-2\"", &[]);
        assert!(lasted(&trial).1 >= 500_000_000, "{stack}: {trial:#}");
        let who = trial["faults"][0]["who"].as_str().unwrap();
        assert!(who.starts_with("agent (sink 2)"), "{who}");
        // What came of it is said of the receiver that was there before.
        let outage = outage(&trial);
        assert_eq!(outage["receiver"], 1, "{stack}: {trial:#}");
        assert_eq!(number(outage, "lost"), 0, "{stack}: {trial:#}");
        assert_eq!(number(&trial["counts"], "received"), 400);
        // The library tells by one send that it has left. The kernel refuses any that follows another before the sender has looked for
        // refusals, but none of the hundred that were due while it was there.
        let most = if stack == "iceoryx2" { 1 } else { 300 };
        assert!(number(&trial["counts"], "refused") <= most, "{trial:#}");
        assert!(
            !trial.to_string().contains("ended-after-fault"),
            "{trial:#}"
        );
    }
}

#[test]
fn a_newcomer_that_fails_fails_the_trial_with_the_words_of_its_library() {
    for (option, said) in [
        (
            "error_in = \"open\"",
            "faulty fails here after 0 that went well",
        ),
        (
            "error_in = \"receiver\"",
            "faulty fails here after 0 that went well",
        ),
        (
            "crash_in = \"take\"\ncrash_after = 9",
            "agent (sink 2) with adapter faulty ended with signal 11 (SIGSEGV",
        ),
        (
            "deaf_after = 0",
            "agent (sink 2) with adapter faulty had received no message when it had to leave",
        ),
    ] {
        let place = Place::new();
        let fault = "who = \"receiver 2\"\nwhat = \"join\"\nfor = \"500 ms\"";
        let stack = format!(
            "description = \"a second receiver that fails\"\nadapter = \"faulty\"\nwaits = [\"block\"]\n\
             [options]\ninner = \"udp\"\nparticipant = 2\n{option}\n"
        );
        place.suite("outages", &suite(fault, "topology = \"1-2\""));
        place.stack("mine", &stack).run(&RUN_MINE).with_code(4);
        let trial = of_mine(&place);
        assert_eq!(trial["failure"]["cause"], "not-joined", "{trial:#}");
        let message = failure(&trial);
        let begin = "the newcomer of the fault `receiver 2 joined and left after 500 ms` failed: ";
        assert!(message.starts_with(begin), "{message}");
        assert!(message.contains(said), "{option}: {message}");
        assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
    }
}

#[test]
fn two_faults_are_a_scenario() {
    let fault = "who = \"receiver\"\nwhat = \"stop\"\nfor = \"100 ms\"\n\
                 [[experiment.fault]]\nat = \"600 ms\"\nwho = \"sender\"\nwhat = \"restart\"\nfor = \"100 ms\"";
    let trial = trial("udp", fault, "", &[]);
    let made = trial["faults"].as_array().unwrap();
    let begin = |n: usize| made[n]["begin"][0].as_u64().unwrap();
    assert_eq!(made.len(), 2, "{trial:#}");
    assert!(begin(1) - begin(0) >= 299_000_000, "{trial:#}");
    assert!(outage(&trial)["recovery"].is_u64(), "{trial:#}");
}

#[test]
fn who_is_struck_again_on_its_way_back_is_waited_for_no_more() {
    // No process is ready so soon.
    for (second, comes_back) in [
        ("what = \"kill\"", false),
        ("what = \"restart\"\nfor = \"100 ms\"", true),
        ("what = \"rejoin\"\nfor = \"100 ms\"", true),
    ] {
        let fault = format!(
            "who = \"sender\"\nwhat = \"restart\"\nfor = \"1 us\"\n\
             [[experiment.fault]]\nat = \"301 ms\"\nwho = \"sender\"\n{second}"
        );
        let trial = trial("udp", &fault, "", &[]);
        let made = trial["faults"].as_array().unwrap();
        assert_eq!(made.len(), 2, "{trial:#}");
        assert!(made[1]["end"].is_array(), "{second}: {trial:#}");
        assert_eq!(
            outage(&trial)["recovery"].is_u64(),
            comes_back,
            "{second}: {trial:#}"
        );
    }
}

/// The stack `mine`: sockets, and beside them `script` in a shell.
fn place_with_daemon(script: &str, fault: &str) -> Place {
    let place = Place::new();
    let stack = format!(
        "description = \"sockets, and a daemon that they do not need\"\nadapter = \"udp\"\nwaits = [\"block\"]\n\
         [[daemon]]\nname = \"helper\"\ncommand = [\"sh\", \"{{scratch}}/helper.sh\", \"{}\"]\n\
         ready = {{ output = \"ready\" }}\n[daemon.files]\n\"helper.sh\" = '''\n{script}\n'''\n",
        place.path("").display()
    );
    let text = suite(fault, "").replace("\"20 s\"", "\"2 s\"");
    place.suite("outages", &text).stack("mine", &stack);
    place
}

const RUN_MINE: [&str; 7] = [
    "run", "outages", "--stack", "mine", "--out", "out", "--quiet",
];

#[track_caller]
fn of_mine(place: &Place) -> Value {
    let mut trials = place.trials("out");
    trials.retain(|t| t["faults"].is_array() || t["outcome"] != "completed");
    assert_eq!(trials.len(), 1, "{trials:#?}");
    trials.remove(0)
}

#[test]
fn a_daemon_is_ended_and_started_anew() {
    let fault = "who = \"daemon\"\nwhat = \"restart\"\nfor = \"100 ms\"";
    let place = place_with_daemon("echo $$ >> $1/pids\necho ready\nexec sleep 1000", fault);
    place.run(&RUN_MINE).with_code(0);
    let trial = of_mine(&place);
    assert_eq!(trial["faults"][0]["who"], "daemon helper", "{trial:#}");
    assert!(lasted(&trial).1 >= 100_000_000, "{trial:#}");
    assert_eq!(number(outage(&trial), "lost"), 0, "{trial:#}");
    let pids = std::fs::read_to_string(place.path("pids")).unwrap();
    let pids: Vec<i32> = pids.lines().map(|pid| pid.parse().unwrap()).collect();
    // The first one of the yardstick's, if it has one, is none of them.
    assert_eq!(pids.len(), 2, "{pids:?}");
    assert!(!pids.iter().any(|pid| is_alive(*pid)));
}

#[test]
fn a_daemon_that_does_not_come_back_fails_the_trial_by_name() {
    let fault = "who = \"daemon helper\"\nwhat = \"restart\"\nfor = \"100 ms\"";
    for (again, said) in [
        ("echo no more >&2; exit 3", "before it was ready: no more"),
        ("exec sleep 1000", "was not ready within 2.0 s"),
    ] {
        let script = format!(
            "if [ -e $1/once ]; then {again}; fi\ntouch $1/once\necho ready\nexec sleep 1000"
        );
        let place = place_with_daemon(&script, fault);
        place.run(&RUN_MINE).with_code(4);
        let message = failure(&of_mine(&place));
        let begin = "daemon helper did not come back after the fault `daemon helper killed and restarted after 100 ms`";
        assert!(message.starts_with(begin), "{message}");
        assert!(message.contains(said), "{message}");
        assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
    }
}

#[test]
fn a_daemon_that_does_not_end_fails_the_trial_by_name() {
    let fault = "who = \"daemon\"\nwhat = \"leave\"";
    let script = "trap '' TERM\necho ready\nwhile :; do sleep 0.05; done";
    let place = place_with_daemon(script, fault);
    place.run(&RUN_MINE).with_code(4);
    let message = failure(&of_mine(&place));
    assert!(
        message.contains("daemon helper did not end within 2.0 s of the fault `daemon left`"),
        "{message}"
    );
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn a_participant_that_does_not_leave_fails_the_trial_by_name() {
    let place = Place::new();
    let text = suite("who = \"receiver\"\nwhat = \"leave\"", "").replace("\"20 s\"", "\"2 s\"");
    place.suite("outages", &text).stack(
        "mine",
        "description = \"hangs\"\nadapter = \"faulty\"\nwaits = [\"block\"]\n[options]\ninner = \"uds\"\nhang_in = \"drop\"\n",
    );
    place.run(&RUN_MINE).with_code(4);
    let message = failure(&of_mine(&place));
    let end = "did not end within 2.0 s of the fault `receiver left`";
    assert!(message.ends_with(end), "{message}");
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn an_interrupt_or_a_kill_within_a_fault_leaves_nothing() {
    for signal in [libc::SIGINT, libc::SIGKILL] {
        let place = Place::new();
        let text = suite("who = \"receiver\"\nwhat = \"stop\"\nfor = \"50 s\"", "");
        let text = text.replace("\"2 s\"", "\"60 s\"");
        place.suite("outages", &text);
        let run = place.start(&[
            "run", "outages", "--stack", "udp", "--out", "out", "--quiet",
        ]);
        let is_stopped = |pid: &i32| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.rsplit(") ").next().is_some_and(|s| s.starts_with('T'))
        };
        let pids = wait_for("a process that stands still", || {
            let all = all_children(run.pid());
            all.iter().any(is_stopped).then_some(all)
        });
        run.signal(signal);
        drop(run.end());
        wait_for("all of them to be gone", || {
            (!pids.iter().any(|pid| is_alive(*pid))).then_some(())
        });
        if signal == libc::SIGKILL {
            // Files are left to the next run.
            continue;
        }
        assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
    }
}

/// Hosts that are namespaces, each participant on its own.
const APART: [&str; 2] = ["--testbed", "netns-1gbe"];
const ON_HOSTS: &str = "placement = \"host\"";

fn may_make_namespaces() -> bool {
    // SAFETY: geteuid has no preconditions.
    let root = unsafe { libc::geteuid() } == 0;
    if !root {
        eprintln!("NOT TESTED: making network namespaces and dropping packets needs root");
    }
    root
}

fn counter(trial: &Value, name: &str) -> u64 {
    let networks = trial["networks"].as_array().unwrap();
    let of = |network: &Value| network["counters"][name].as_u64();
    networks.iter().filter_map(of).sum()
}

#[test]
fn datagrams_are_lost_in_a_cut_and_come_again_after_it() {
    if !may_make_namespaces() {
        return;
    }
    for (what, who) in [
        ("blackout", "receiver"),
        ("blackout", "sender"),
        ("blackout\"\nway = \"in", "receiver"),
        ("blackout\"\nway = \"out", "sender"),
        ("link-down", "receiver"),
        ("link-down", "sender"),
    ] {
        let fault = format!("who = \"{who}\"\nwhat = \"{what}\"\nfor = \"500 ms\"");
        let trial = trial("udp", &fault, ON_HOSTS, &APART);
        assert!(lasted(&trial).1 >= 500_000_000, "{fault}: {trial:#}");
        let outage = outage(&trial);
        // 100 were due while it lasted.
        assert!(number(outage, "lost") >= 80, "{fault}: {trial:#}");
        assert!(outage["recovery"].is_u64(), "{fault}: {trial:#}");
        let who = trial["faults"][0]["who"].as_str().unwrap();
        assert!(who.starts_with("link of h"), "{who}");
    }
}

#[test]
fn the_other_way_passes_while_one_is_cut() {
    if !may_make_namespaces() {
        return;
    }
    for (way, who) in [("out", "receiver"), ("in", "sender")] {
        let fault =
            format!("who = \"{who}\"\nwhat = \"blackout\"\nway = \"{way}\"\nfor = \"300 ms\"");
        let trial = trial("udp", &fault, ON_HOSTS, &APART);
        assert_eq!(number(outage(&trial), "lost"), 0, "{fault}: {trial:#}");
    }
}

#[test]
fn a_share_of_datagrams_is_lost_while_it_is_to_be() {
    if !may_make_namespaces() {
        return;
    }
    // 100 of 200 are expected. Six standard deviations are 43; in bursts of four they are 73, as losses go together.
    for (burst, few) in [("", 57), ("\nburst = 4", 27)] {
        let fault =
            format!("who = \"receiver\"\nwhat = \"loss\"\nshare = 0.5{burst}\nfor = \"1 s\"");
        let trial = trial("udp", &fault, ON_HOSTS, &APART);
        let lost = number(outage(&trial), "lost");
        assert!((few..=200 - few).contains(&lost), "{trial:#}");
    }
}

#[test]
fn a_slower_link_delays_what_is_sent_and_is_as_fast_as_before_after_it() {
    if !may_make_namespaces() {
        return;
    }
    // 200 messages of 1 KiB per second are 1.6 Mbit/s and more.
    let fault = "who = \"receiver\"\nwhat = \"rate\"\nrate = \"1 Mbit/s\"\nfor = \"500 ms\"";
    let more = format!("{ON_HOSTS}\npayload = \"1 KiB\"");
    let trial = trial("udp", fault, &more, &APART);
    assert!(lasted(&trial).1 >= 500_000_000, "{trial:#}");
    let outage = outage(&trial);
    // They wait in the buffers of the link, which are large enough.
    assert_eq!(number(outage, "lost"), 0, "{trial:#}");
    assert!(number(outage, "recovery") > 0, "{trial:#}");
    assert!(outage["steady"].is_u64(), "{trial:#}");
    let who = trial["faults"][0]["who"].as_str().unwrap();
    assert!(who.starts_with("link of h"), "{who}");
}

#[test]
fn a_connection_sends_again_what_a_cut_or_a_loss_has_taken() {
    if !may_make_namespaces() {
        return;
    }
    for fault in [
        "what = \"blackout\"\nfor = \"500 ms\"",
        "what = \"link-down\"\nfor = \"500 ms\"",
        "what = \"loss\"\nshare = 0.3\nfor = \"500 ms\"",
    ] {
        let text = suite(&format!("who = \"receiver\"\n{fault}"), ON_HOSTS);
        let place = Place::new();
        place.suite("outages", &text.replace("\"2 s\"", "\"4 s\""));
        let run = [
            "run", "outages", "--stack", "tcp", "--out", "out", "--quiet",
        ];
        place.run(&[&run[..], &APART].concat()).with_code(0);
        let trial = of_mine(&place);
        assert_eq!(number(outage(&trial), "lost"), 0, "{fault}: {trial:#}");
        assert!(counter(&trial, "tcp_retransmits") > 0, "{fault}: {trial:#}");
    }
}

#[test]
fn a_runner_that_is_interrupted_while_a_link_is_down_leaves_nothing() {
    if !may_make_namespaces() {
        return;
    }
    let place = Place::new();
    let text = suite(
        "who = \"receiver\"\nwhat = \"link-down\"\nfor = \"50 s\"",
        ON_HOSTS,
    );
    place.suite("outages", &text.replace("\"2 s\"", "\"60 s\""));
    let run = [
        "run", "outages", "--stack", "udp", "--out", "out", "--quiet",
    ];
    let run = place.start(&[&run[..], &APART].concat());
    let is_cut = |pid: &i32| {
        // Its addresses stay, its routes go with the link.
        let of = |file: &str| std::fs::read_to_string(format!("/proc/{pid}/net/{file}"));
        let device = of("dev").unwrap_or_default();
        let routes = of("route").unwrap_or_default();
        device.contains("eth0:") && !routes.contains("eth0")
    };
    let pids = wait_for("a host without its link", || {
        let all = run.agents(2);
        all.iter().any(is_cut).then_some(all)
    });
    send(run.pid(), libc::SIGINT);
    drop(run.end());
    assert!(!pids.iter().any(|pid| is_alive(*pid)));
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
}
