use super::*;
use dyno_measure::record::decode;
use dyno_model::fault::{
    DetectedBy, Detection, Fault, FaultKind, FaultMade, Target, Way as Direction,
};
use dyno_model::plan::{ExperimentId, Extent};
use dyno_model::record::Outcome;
use dyno_model::unit::RateHz;
use dyno_model::{Arrivals, Experiment, Graph, Participant, PayloadSize, Role, TrialId, Workload};
use proptest::prelude::*;

const SEED: u64 = 5;
const MS: u64 = 1_000_000;

fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

/// A stream from participant 0 to receivers 1, 2, …, one message each `period`, with one fault.
struct Scene {
    experiment: Experiment,
    graph: Graph,
    window: [Nanos; 2],
    made: Vec<FaultMade>,
    struck: Vec<u16>,
    events: Vec<FaultEvent>,
}

/// The window begins then.
const BEGIN: Nanos = Nanos(2_000 * MS);

impl Scene {
    /// The fault lasts from `fault[0]` to `fault[1]`, ms after the window's begin, and nobody noted anything.
    fn new(receivers: u16, period: Nanos, lasts: Nanos, fault: [u64; 2]) -> Self {
        let workload = Workload::Stream {
            rate: RateHz::new(1e9 / period.0 as f64).unwrap(),
            arrivals: Arrivals::Fixed,
        };
        let id = ExperimentId(0);
        let payload = PayloadSize::new(64).unwrap();
        let mut experiment = Experiment::blank(id, "tcp", workload, payload);
        experiment.window = Extent::Duration(lasts);
        experiment.faults = vec![Fault {
            what: FaultKind::Blackout,
            who: Target::Receiver { number: 0 },
            at: ms(fault[0]),
            lasts: ms(fault[1] - fault[0]),
            share: None,
            burst: None,
            rate_bits: None,
            way: Direction::Both,
        }];
        let participant = |index| Participant {
            index,
            role: match index {
                0 => Role::Source,
                _ => Role::Sink,
            },
            host: 0,
            process: index,
            cpu: None,
            library_cpus: Vec::new(),
            exchange: 0,
            flow: 0,
        };
        let graph = Graph {
            participants: (0..=receivers).map(participant).collect(),
            channels: vec![Channel {
                id: 0,
                leg: 0,
                read_leg: None,
                writer: 0,
                readers: (1..=receivers).collect(),
                answers: None,
                carries_on: None,
            }],
        };
        let at = |after| BEGIN.saturating_add(ms(after));
        let stamp = |after| [at(after), at(after).saturating_add(Nanos(1_000))];
        Scene {
            experiment,
            graph,
            window: [BEGIN, BEGIN.saturating_add(lasts)],
            made: vec![FaultMade {
                fault: 0,
                who: "receiver".into(),
                begin: stamp(fault[0]),
                end: Some(stamp(fault[1])),
            }],
            struck: Vec::new(),
            events: Vec::new(),
        }
    }

    fn dues(&self) -> Vec<Nanos> {
        let schedule = Schedule::of(self.experiment.workload, BEGIN, SEED, 0);
        let mut schedule = schedule.unwrap();
        let all = std::iter::repeat_with(|| schedule.next_due());
        all.take_while(|due| *due < self.window[1]).collect()
    }

    fn note(&mut self, participant: u16, at: Nanos, what: Noted) {
        let (generation, channel) = (0, 0);
        self.events.push(FaultEvent {
            participant,
            generation,
            channel,
            what,
            at,
        });
    }

    /// Message `sequence` arrives at `receiver` `after` it was due.
    fn arrive(&mut self, receiver: u16, sequence: u64, after: Nanos) {
        let due = self.dues()[sequence as usize];
        let sent = due.saturating_add(Nanos(1_000));
        let at = due.saturating_add(after);
        let noted = Noted::Arrival {
            sequence,
            due,
            sent,
        };
        self.note(receiver, at, noted);
    }

    /// Every message is sent, and `receiver` gets those for which `after`, of its due time since the window's begin, says how
    /// long that takes.
    fn play(&mut self, receiver: u16, after: impl Fn(Nanos) -> Option<Nanos>) {
        for (sequence, due) in (0..).zip(self.dues()) {
            let sent = due.saturating_add(Nanos(1_000));
            let returned = sent.saturating_add(Nanos(2_000));
            if receiver == 1 {
                self.note(0, returned, Noted::Sent { sequence, sent });
            }
            if let Some(after) = after(due.saturating_sub(BEGIN)) {
                let at = due.saturating_add(after);
                let noted = Noted::Arrival {
                    sequence,
                    due,
                    sent,
                };
                self.note(receiver, at, noted);
            }
        }
    }

    fn fill(&self) -> Result<TrialRecord, FailureCause> {
        let id = TrialId {
            experiment: ExperimentId(0),
            number: 0,
        };
        let mut record = TrialRecord::blank(id, 0, Outcome::Completed);
        let seen = Seen {
            experiment: &self.experiment,
            graph: &self.graph,
            seed: SEED,
            start: BEGIN,
            window: self.window,
            made: &self.made,
            struck: &self.struck,
            events: self.events.clone(),
        };
        fill(&mut record, seen).map(|()| record)
    }

    #[track_caller]
    fn record(&self) -> TrialRecord {
        self.fill().unwrap()
    }
}

/// A message takes 100 µs.
const USUAL: Nanos = Nanos(100_000);

/// Nothing due from `from` until before `to`, in ms, arrives.
fn all_but(from: u64, to: u64) -> impl Fn(Nanos) -> Option<Nanos> {
    move |due| (due < ms(from) || due >= ms(to)).then_some(USUAL)
}

/// The one sample of a metric: `None`, it is infinite.
#[track_caller]
fn sample(record: &TrialRecord, metric: Metric) -> Option<Nanos> {
    let d = &record.distributions[&metric];
    assert_eq!(d.n + d.infinite, 1, "{metric}");
    (d.n == 1).then_some(Nanos(d.max))
}

#[test]
fn a_planted_silence_is_found_within_a_millisecond() {
    for silence in [50, 51, 100, 333, 1_000, 2_500, 5_000] {
        let mut scene = Scene::new(1, ms(1), ms(12_000), [3_000, 3_000 + silence]);
        // The last one before it arrives at its begin.
        scene.play(1, all_but(3_001, 3_000 + silence));
        let record = scene.record();
        let found = sample(&record, Metric::Silence).unwrap();
        assert!(found.0.abs_diff(silence * MS) <= MS, "{silence}: {found}");
        let recovery = sample(&record, Metric::Recovery).unwrap();
        assert_eq!(
            (recovery, sample(&record, Metric::Steady)),
            (USUAL, Some(USUAL))
        );
    }
}

#[test]
fn a_silence_anywhere_after_the_fault_is_found() {
    let mut scene = Scene::new(1, ms(10), ms(8_000), [1_000, 1_000]);
    scene.play(1, all_but(4_000, 6_000));
    let outage = scene.record().outages[0].clone();
    assert_eq!(outage.silence, Some(ms(2_010)));
    // The stream had not stopped by then, and did not last.
    assert_eq!(outage.recovery, Some(Nanos::ZERO));
    assert_eq!(outage.steady, Some(Nanos(5_000 * MS + USUAL.0)));
    assert_eq!((outage.lost, outage.burst, outage.oldest), (200, 2, USUAL));
}

#[test]
fn a_silence_before_the_fault_is_not_its() {
    let mut scene = Scene::new(1, ms(10), ms(8_000), [5_000, 5_100]);
    scene.play(1, all_but(1_000, 3_000));
    let outage = scene.record().outages[0].clone();
    assert_eq!((outage.silence, outage.lost), (Some(ms(10)), 0));
    assert_eq!(
        (outage.recovery, outage.steady),
        (Some(Nanos::ZERO), Some(Nanos::ZERO))
    );
    // Two fifths of those before it never came.
    assert_eq!(
        (outage.before_p50, outage.before_max),
        (Some(USUAL), Some(USUAL))
    );
}

#[test]
fn the_deaf_end_is_found_by_name() {
    let mut scene = Scene::new(3, ms(10), ms(5_000), [1_000, 2_000]);
    scene.play(1, all_but(1_000, 2_000));
    scene.play(2, all_but(1_000, 5_000));
    scene.play(3, all_but(1_000, 2_500));
    let record = scene.record();
    let deaf = record.outages.iter().filter(|o| o.is_deaf());
    assert_eq!(
        deaf.map(|o| (o.channel, o.receiver)).collect::<Vec<_>>(),
        [(0, 2)]
    );
    let deaf = &record.outages[1];
    assert_eq!(
        (deaf.silence, deaf.steady, deaf.steady_max),
        (None, None, None)
    );
    assert_eq!((deaf.burst, deaf.lost), (0, 400));
    for metric in [Metric::Recovery, Metric::Silence, Metric::Steady] {
        assert_eq!(sample(&record, metric), None, "{metric}");
    }
    assert_eq!(sample(&record, Metric::RecoveryFirst), Some(USUAL));
    assert_eq!(record.outages[2].recovery, Some(Nanos(500 * MS + USUAL.0)));
}

#[test]
fn one_message_more_is_no_recovery() {
    // Killed for good, with one message under way.
    let mut scene = Scene::new(1, ms(10), ms(3_000), [1_005, 1_005]);
    scene.experiment.faults[0].what = FaultKind::Kill;
    scene.experiment.faults[0].who = Target::Sender { number: 0 };
    scene.play(1, all_but(1_000, 3_000));
    scene.arrive(1, 100, ms(20));
    let outage = scene.record().outages[0].clone();
    assert!(outage.is_deaf());
    // Nor is a stretch of messages that ends for good.
    let mut scene = Scene::new(1, ms(10), ms(5_000), [1_000, 2_000]);
    scene.play(1, |due| {
        all_but(1_000, 2_000)(due).filter(|_| due < ms(3_000))
    });
    let outage = scene.record().outages[0].clone();
    assert_eq!(
        (outage.silence, outage.recovery, outage.steady),
        (None, None, None)
    );
}

#[test]
fn the_last_message_alone_deafens_nobody() {
    let mut scene = Scene::new(1, ms(10), ms(3_000), [1_000, 2_000]);
    scene.play(1, |due| {
        all_but(1_000, 2_000)(due).filter(|_| due < ms(2_960))
    });
    let outage = scene.record().outages[0].clone();
    assert_eq!(outage.silence, Some(ms(1_010)));
    assert_eq!((outage.recovery, outage.steady), (Some(USUAL), Some(USUAL)));
}

#[test]
fn what_was_queued_arrives_at_once_and_old() {
    // As tcp does: what was due meanwhile comes 300 ms after the end.
    let mut scene = Scene::new(1, ms(10), ms(4_000), [1_000, 2_000]);
    scene.play(1, |due| match due >= ms(1_000) && due < ms(2_300) {
        true => Some(ms(2_300).saturating_sub(due)),
        false => Some(USUAL),
    });
    let outage = scene.record().outages[0].clone();
    assert_eq!(outage.silence, Some(Nanos(1_310 * MS - USUAL.0)));
    assert_eq!(outage.recovery, Some(ms(300)));
    // Nothing of the queue is in time.
    assert_eq!(outage.steady, Some(Nanos(300 * MS + USUAL.0)));
    assert_eq!(
        (outage.burst, outage.oldest, outage.lost),
        (131, ms(1_300), 0)
    );
    assert_eq!(
        (outage.steady_max, outage.before_max),
        (Some(USUAL), Some(USUAL))
    );
}

#[test]
fn a_slower_stream_is_not_steady() {
    let slow = |more: u64| {
        let mut scene = Scene::new(1, ms(10), ms(4_000), [1_000, 2_000]);
        scene.play(1, |due| match due >= ms(2_000) {
            true => Some(Nanos(USUAL.0 + more)),
            false => all_but(1_000, 2_000)(due),
        });
        scene.record().outages[0].clone()
    };
    assert_eq!(slow(MS).steady, Some(Nanos(USUAL.0 + MS)));
    assert_eq!(slow(MS + 1).steady, None);
    assert_eq!(slow(MS).steady_max, Some(Nanos(USUAL.0 + MS)));
}

#[test]
fn a_late_message_before_the_fault_that_waits_for_its_end_excuses_nothing() {
    let mut scene = Scene::new(1, ms(10), ms(4_000), [1_000, 2_000]);
    scene.play(1, |due| match due.0 / (10 * MS) {
        99 => Some(ms(1_100)),
        100..200 => None,
        _ => Some(ms(50)),
    });
    let outage = scene.record().outages[0].clone();
    assert_eq!(
        (outage.before_p50, outage.before_max),
        (Some(ms(50)), Some(ms(50)))
    );
    assert_eq!(
        (outage.recovery, outage.steady),
        (Some(ms(50)), Some(ms(50)))
    );
}

#[test]
fn copies_and_overtaken_messages_end_no_silence() {
    let mut scene = Scene::new(1, ms(10), ms(4_000), [1_000, 2_000]);
    scene.play(1, |due| match due.0 / (10 * MS) {
        50 => None,
        _ => all_but(1_000, 2_000)(due),
    });
    // Message 50 comes in the middle of the silence, and 99 once more.
    scene.arrive(1, 50, ms(1_000));
    scene.arrive(1, 99, ms(600));
    let record = scene.record();
    let outage = &record.outages[0];
    assert_eq!(outage.silence, Some(ms(1_010)));
    assert_eq!(
        (outage.repeated, outage.reordered, outage.lost),
        (1, 1, 100)
    );
    assert_eq!((record.counts.duplicated, record.counts.reordered), (1, 1));
}

#[test]
fn a_receiver_that_was_killed_for_good_counts_in_nothing() {
    let mut scene = Scene::new(2, ms(10), ms(3_000), [1_000, 1_000]);
    scene.experiment.faults[0].what = FaultKind::Kill;
    scene.struck = vec![1];
    scene.play(1, all_but(1_000, 3_000));
    scene.play(2, |_| Some(USUAL));
    let record = scene.record();
    assert_eq!(
        record
            .outages
            .iter()
            .map(|o| o.receiver)
            .collect::<Vec<_>>(),
        [2]
    );
    assert_eq!((record.counts.offered, record.counts.lost), (300, 0));
    assert_eq!(sample(&record, Metric::Recovery), Some(Nanos::ZERO));
    // Alone it leaves nobody.
    let mut scene = Scene::new(1, ms(10), ms(3_000), [1_000, 1_000]);
    scene.experiment.faults[0].what = FaultKind::Kill;
    scene.struck = vec![1];
    scene.play(1, all_but(1_000, 3_000));
    let record = scene.record();
    assert!(record.outages.is_empty() && !record.distributions.contains_key(&Metric::Recovery));
    assert_eq!(
        (record.counts.offered, sample(&record, Metric::Detection)),
        (0, None)
    );
}

#[test]
fn a_newcomer_counts_in_nothing_and_the_others_tell_what_it_does_to_them() {
    let mut scene = Scene::new(2, ms(10), ms(3_000), [1_000, 2_000]);
    let fault = &mut scene.experiment.faults[0];
    (fault.what, fault.who) = (FaultKind::Join, Target::Receiver { number: 1 });
    scene.struck = vec![2];
    // Two messages fail to come when it joins.
    scene.play(1, all_but(1_000, 1_020));
    scene.play(2, |due| {
        (due >= ms(1_100) && due < ms(2_000)).then_some(USUAL)
    });
    let record = scene.record();
    let outage = &record.outages[0];
    assert_eq!((record.outages.len(), outage.receiver), (1, 1));
    assert_eq!((outage.silence, outage.lost), (Some(ms(30)), 2));
    assert_eq!((record.counts.offered, record.counts.lost), (300, 2));
    assert_eq!((outage.recovery, outage.seen), (Some(USUAL), ms(1_000)));
}

#[test]
fn of_newcomers_a_library_tells_when_the_first_one_leaves() {
    let mut scene = Scene::new(2, ms(10), ms(5_000), [1_000, 2_000]);
    let fault = &mut scene.experiment.faults[0];
    (fault.what, fault.who) = (FaultKind::Join, Target::Receiver { number: 1 });
    let second = Scene::new(2, ms(10), ms(5_000), [3_000, 3_500]);
    scene.made.extend(second.made);
    scene.play(1, |_| Some(USUAL));
    for (at, matched) in [(0, 1), (1_005, 2), (2_003, 1), (3_005, 2), (3_503, 1)] {
        scene.note(0, BEGIN.saturating_add(ms(at)), Noted::Peers { matched });
    }
    assert_eq!(sample(&scene.record(), Metric::Detection), Some(ms(3)));
}

#[test]
fn a_fault_that_did_not_end_counts_from_its_begin() {
    let mut scene = Scene::new(1, ms(10), ms(3_000), [1_000, 2_000]);
    scene.made[0].end = None;
    scene.play(1, all_but(1_000, 1_500));
    let outage = scene.record().outages[0].clone();
    assert_eq!(outage.recovery, Some(Nanos(500 * MS + USUAL.0)));
}

#[test]
fn of_several_faults_the_first_begin_and_the_last_end_count() {
    let mut scene = Scene::new(1, ms(10), ms(5_000), [1_000, 1_200]);
    let second = Scene::new(1, ms(10), ms(5_000), [2_000, 2_500])
        .made
        .remove(0);
    scene.made.push(second);
    scene.play(1, |due| {
        all_but(1_000, 1_400)(due).and(all_but(2_000, 2_600)(due))
    });
    let outage = scene.record().outages[0].clone();
    assert_eq!(outage.recovery, Some(Nanos(100 * MS + USUAL.0)));
    assert_eq!((outage.silence, outage.lost), (Some(ms(610)), 100));
}

#[test]
fn a_control_recovers_at_once() {
    let mut scene = Scene::new(1, ms(10), ms(3_000), [1_003, 2_003]);
    scene.experiment.faults[0].what = FaultKind::Nothing;
    scene.play(1, |_| Some(USUAL));
    let record = scene.record();
    for metric in [Metric::Recovery, Metric::RecoveryFirst, Metric::Steady] {
        assert_eq!(sample(&record, metric), Some(Nanos::ZERO), "{metric}");
    }
    assert_eq!(sample(&record, Metric::Silence), Some(ms(10)));
    assert_eq!(sample(&record, Metric::Detection), None);
    assert_eq!((record.counts.lost, record.counts.sent), (0, 300));
    let arrivals = &record.outages[0].arrivals;
    // From a second before it on, the first one at 10.1 ms of the window, until the window's end.
    let around = (arrivals.first(), arrivals.last());
    assert_eq!(around, (Some(&-992_900_000), Some(&1_987_100_000)));
}

#[test]
fn the_first_who_was_not_struck_tells_and_how() {
    let mut scene = Scene::new(2, ms(10), ms(3_000), [1_000, 2_000]);
    scene.struck = vec![1];
    scene.play(1, all_but(1_000, 2_000));
    scene.play(2, |_| Some(USUAL));
    let at = |after| BEGIN.saturating_add(ms(after));
    let peers = |matched| Noted::Peers { matched };
    for (participant, when, what) in [
        (0, 0, peers(2)),
        (1, 1_001, Noted::TakeFailed),
        (0, 1_300, peers(1)),
        (0, 1_400, peers(2)),
        (0, 1_500, peers(0)),
        (0, 1_700, Noted::NotSent { sequence: 170 }),
        // It told so without a fault.
        (2, 500, Noted::TakeFailed),
        (2, 1_100, Noted::TakeFailed),
        (2, 3_500, peers(1)),
        (2, 3_600, peers(0)),
    ] {
        scene.note(participant, at(when), what);
    }
    let record = scene.record();
    let told = |participant, by, after| Detection {
        participant,
        by,
        after: ms(after),
    };
    assert_eq!(
        record.detections,
        [
            told(0, DetectedBy::Peers, 300),
            told(0, DetectedBy::Send, 700)
        ]
    );
    assert_eq!(sample(&record, Metric::Detection), Some(ms(300)));
}

#[test]
fn what_the_schedule_does_not_have_is_a_contradiction() {
    let mut scene = Scene::new(1, ms(10), ms(3_000), [1_000, 2_000]);
    scene.play(1, |_| Some(USUAL));
    let due = BEGIN.saturating_add(Nanos(1));
    let (sequence, sent) = (0, due);
    scene.note(
        1,
        due,
        Noted::Arrival {
            sequence,
            due,
            sent,
        },
    );
    let cause = scene.fill().unwrap_err();
    assert!(
        cause
            .to_string()
            .contains("participant 1 received message 0 of channel 0")
    );
    scene.experiment.workload = Workload::Flood;
    assert_eq!(scene.fill().unwrap_err(), FailureCause::NoSchedule);
}

#[test]
fn latencies_hold_every_message_that_was_due() {
    let mut scene = Scene::new(2, ms(10), ms(3_000), [1_000, 2_000]);
    scene.play(1, all_but(1_000, 2_000));
    scene.play(2, |_| Some(USUAL));
    scene.note(2, BEGIN, Noted::Damaged);
    scene.note(2, Nanos(BEGIN.0 - 1), Noted::Damaged);
    let record = scene.record();
    let (response, service) = (Metric::Response, Metric::Service);
    for (metric, least) in [(response, USUAL), (service, Nanos(USUAL.0 - 1_000))] {
        let d = &record.distributions[&metric];
        assert_eq!((d.n, d.infinite, d.min), (500, 100, least.0));
        assert_eq!((decode(&d.total).unwrap().len(), d.blocks.len()), (500, 10));
    }
    let counts = record.counts;
    assert_eq!(
        (counts.offered, counts.sent, counts.corrupted),
        (600, 600, 1)
    );
    let flow = record.flows[0];
    assert_eq!((flow.received, flow.bytes), (200, 200 * 64));
    assert_eq!((flow.in_window, flow.by_half), (Some(200), Some(100)));
    let throughput = record.throughput;
    assert_eq!((throughput.offered_hz, throughput.sent_hz), (100.0, 100.0));
    assert!((throughput.delivered_hz - 500.0 / 3.0).abs() < 0.1);
}

#[test]
fn the_picture_keeps_the_first_of_each_piece() {
    let mut scene = Scene::new(1, ms(1), ms(6_000), [2_000, 3_000]);
    scene.play(1, all_but(2_000, 3_000));
    let arrivals = scene.record().outages[0].arrivals.clone();
    assert!(arrivals.len() <= Outage::MOST_ARRIVALS && arrivals.len() > 200);
    assert!(arrivals.is_sorted());
    assert!(arrivals[0] >= -1_000_000_000 && arrivals[0] < -990_000_000);
    let silent = arrivals.windows(2).map(|two| two[1] - two[0]).max();
    assert!(silent >= Some(1_000_000_000));
}

/// What happens to a message: `None`, it is lost; else how long it takes in µs, and whether it comes twice.
fn fates(n: usize) -> impl Strategy<Value = Vec<Option<(u64, bool)>>> {
    let fate = prop_oneof![
        6 => Just(Some((100u64, false))),
        2 => Just(None),
        1 => (0u64..200_000, any::<bool>()).prop_map(Some),
    ];
    proptest::collection::vec(fate, n)
}

fn played(fates: &[Option<(u64, bool)>], fault: [u64; 2]) -> Scene {
    let mut scene = Scene::new(1, ms(10), ms(10 * fates.len() as u64), fault);
    for (sequence, fate) in (0..).zip(fates) {
        if let Some((after, twice)) = fate {
            let after = Nanos::from_micros(*after);
            scene.arrive(1, sequence, after);
            if *twice {
                scene.arrive(1, sequence, after.saturating_add(ms(3)));
            }
        }
    }
    scene
}

proptest! {
    // Each writes histograms, which takes long without optimisation.
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_figure_flatters(fates in fates(120), from in 100u64..500, lasts in 0u64..500) {
        let scene = played(&fates, [from, from + lasts]);
        let record = scene.record();
        let outage = &record.outages[0];
        let (begin, end) = (scene.made[0].begin, scene.made[0].end.unwrap());

        // What was newer, by its definition.
        let mut arrivals: Vec<(Nanos, u64, Nanos)> = Vec::new();
        for event in &scene.events {
            if let Noted::Arrival { sequence, sent, .. } = event.what {
                arrivals.push((event.at, sequence, sent));
            }
        }
        arrivals.sort_unstable();
        let mut newer: Vec<(Nanos, u64, Nanos)> = Vec::new();
        for arrival in arrivals {
            if newer.last().is_none_or(|last| last.1 < arrival.1) {
                newer.push(arrival);
            }
        }
        let tail = newer.last().map_or(0, |last| last.1 + 1);
        let is_cut = 120 - tail >= 10;
        let tells = |a: &&(Nanos, u64, Nanos)| a.0 >= end[1] && a.2 >= end[0];
        let first = newer.iter().find(tells).filter(|_| !is_cut);

        prop_assert_eq!(outage.recovery.is_none(), first.is_none());
        prop_assert_eq!(outage.silence.is_none(), first.is_none());
        if let (Some(silence), Some(first)) = (outage.silence, first) {
            for two in newer.windows(2).filter(|two| two[1].0 >= begin[0]) {
                prop_assert!(silence >= two[1].0.saturating_sub(two[0].0));
            }
            let recovery = outage.recovery.unwrap();
            let waited = first.0.saturating_sub(end[0]);
            prop_assert!(recovery == waited || recovery == Nanos::ZERO);
            prop_assert!(outage.steady.is_none_or(|steady| steady >= recovery));
        }
        prop_assert!(outage.steady.is_none() || outage.recovery.is_some());
        prop_assert_eq!(outage.steady.is_some(), outage.steady_max.is_some());
        // Messages that were lost or late right after the fault are no steady state at once.
        if outage.recovery == Some(Nanos::ZERO) {
            let due = |sequence: usize| BEGIN.0 + 10 * MS * sequence as u64;
            let of_proof = |s: &usize| due(*s) >= begin[0].0 && due(*s) < end[1].0 + 100 * MS;
            prop_assert!((0..120).filter(of_proof).all(|s| fates[s].is_some_and(|f| !f.1)));
        }
    }

    #[test]
    fn every_message_that_was_due_is_received_or_lost(
        fates in fates(60), from in 100u64..300, lasts in 0u64..300
    ) {
        let record = played(&fates, [from, from + lasts]).record();
        let counts = record.counts;
        let received = fates.iter().flatten().count() as u64;
        let copies = fates.iter().flatten().filter(|fate| fate.1).count() as u64;
        prop_assert_eq!((counts.offered, counts.received, counts.lost), (60, received, 60 - received));
        prop_assert_eq!(counts.duplicated, copies);
        let d = &record.distributions[&Metric::Response];
        prop_assert_eq!((d.n, d.infinite), (counts.received, counts.lost));
    }

    #[test]
    fn the_order_of_logs_says_nothing(
        (fates, order) in fates(60).prop_flat_map(|fates| {
            let places: Vec<usize> = (0..fates.iter().flatten().map(|f| 1 + usize::from(f.1)).sum()).collect();
            (Just(fates), Just(places).prop_shuffle())
        }),
        from in 100u64..300,
    ) {
        let mut scene = played(&fates, [from, from + 50]);
        let record = scene.record();
        scene.events = order.iter().map(|place| scene.events[*place]).collect();
        prop_assert_eq!(record, scene.record());
    }

    #[test]
    fn a_restarted_receiver_counts_no_message_twice(fates in fates(60), split in 0u64..60, again in 0u64..20) {
        // The second process gets the messages from `split` on, and once more some before them.
        let whole = played(&fates, [200, 250]).record().counts;
        let mut scene = played(&fates, [200, 250]);
        let copied: Vec<u64> = (split.saturating_sub(again)..split).collect();
        let mut more = 0;
        for sequence in copied {
            if fates[sequence as usize].is_some() {
                scene.arrive(1, sequence, ms(500));
                more += 1;
            }
        }
        for event in &mut scene.events {
            let Noted::Arrival { sequence, .. } = event.what else { continue };
            let is_again = event.at >= BEGIN.saturating_add(ms(10 * sequence + 400));
            event.generation = u16::from(sequence >= split || is_again);
        }
        let counts = scene.record().counts;
        prop_assert_eq!((counts.received, counts.lost), (whole.received, whole.lost));
        prop_assert_eq!(counts.duplicated, whole.duplicated + more);
    }
}
