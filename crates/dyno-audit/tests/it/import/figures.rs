//! What each tool says, as figures: the numbers here stand in the samples.

use crate::import::samples::{bytes, close, figure, imported, raw, value};
use dyno_audit::Statements;
use dyno_audit::import::{Tool, import};
use dyno_audit::statement::{Clock, Dimension, Figure, Loop, Of, Quantity, Statistic, Trip, Wait};

#[test]
fn repetitions_of_google_benchmark_are_raw_means_and_its_statistics_are_of_means() {
    let s = imported("google-benchmark/console.txt");
    let times = raw(&s, "copy/64/repeats:3/time");
    assert_eq!(times.each, [7_475_705; 3]);
    for (found, ns) in times.values.iter().zip([4.03, 4.47, 4.06]) {
        close(*found, ns * 1e-9);
    }
    let mean = figure(&s, "copy/64/repeats:3/mean");
    assert_eq!(
        (mean.n, mean.of, mean.each),
        (Some(3), Of::Means, Some(7_475_705))
    );
    assert_eq!(
        (mean.printed.text.as_str(), mean.quantity),
        ("4.19", Quantity::Time)
    );
    assert_eq!(mean.data, times.data);
    let sd = figure(&s, "copy/64/repeats:3/cpu-time-sd");
    assert_eq!(
        (sd.statistic, sd.quantity),
        (Statistic::Sd, Quantity::CpuTime)
    );
    // A benchmark that failed, and the library's own warning.
    assert!(s.figures.iter().all(|f| !f.id.contains("fails")));
    assert!(s.banners.iter().any(|b| {
        b.text
            .starts_with("***WARNING*** Library was built as DEBUG")
            && b.line == 10
    }));
    assert_eq!(
        s.source.tested.as_deref(),
        Some("2026-11-22T17:57:59+00:00")
    );
}

#[test]
fn an_underscore_in_a_name_of_google_benchmark_begins_no_statistic() {
    let log = "\
Benchmark                                Time             CPU   Iterations UserCounters...
Echo/repeats:3/manual_time           50263 us          102 us           13 payload_bytes=104 Tiny_8B
Echo/repeats:3/manual_time           50285 us         95.1 us           13 payload_bytes=104 Tiny_8B
Echo/repeats:3/manual_time           50282 us         94.1 us           13 payload_bytes=104 Tiny_8B
Echo/repeats:3/manual_time_median    50282 us         95.1 us            3 payload_bytes=104 Tiny_8B
Echo/repeats:3/manual_time_p50       50282 us         95.1 us            3 payload_bytes=104 Tiny_8B
Echo/repeats:3/manual_time_p99       50285 us          102 us            3 payload_bytes=104 Tiny_8B
copy_mean                                4 ns            4 ns          100
";
    let s = dyno_audit::import::import(&mut log.as_bytes(), "x", None).unwrap();
    let times = raw(&s, "Echo/repeats:3/manual_time/time");
    assert_eq!(
        (times.values.len(), times.each.as_slice()),
        (3, [13; 3].as_slice())
    );
    let ids: Vec<&str> = s.figures.iter().map(|f| f.id.as_str()).collect();
    for statistic in ["median", "p50", "p99"] {
        assert!(
            ids.contains(&format!("Echo/repeats:3/manual_time/{statistic}").as_str()),
            "{ids:?}"
        );
    }
    let rate = figure(&s, "Echo/repeats:3/manual_time/p99");
    assert_eq!(
        (rate.n, rate.each, rate.method.time),
        (Some(3), Some(13), Some(Clock::Wall))
    );
    // One benchmark alone whose name only looks like one.
    assert_eq!(figure(&s, "copy_mean/mean").n, Some(100));
}

#[test]
fn bytes_per_second_of_google_benchmark_are_binary_and_by_processor_time() {
    let s = imported("google-benchmark/console.txt");
    let rate = figure(&s, "copy/64/repeats:3/bytes_per_second-median");
    assert_eq!(rate.method.time, Some(Clock::Cpu));
    // 64 bytes in the median processor time.
    let by_cpu = 64.0 / value(&s, "copy/64/repeats:3/cpu-time-median");
    let found = rate.printed.value * rate.printed.unit.factor;
    assert!((found / by_cpu - 1.0).abs() < 0.003, "{found} {by_cpu}");
    close(
        value(&s, "copy/65536/repeats:3/payload_bytes-mean"),
        65_536.0,
    );
    let items = figure(&s, "sleeps/min_time:0.050/real_time/items_per_second");
    assert_eq!(
        (items.quantity, items.method.time),
        (Quantity::Rate, Some(Clock::Wall))
    );
}

#[test]
fn google_benchmark_says_the_same_in_all_its_forms() {
    for name in ["console.txt", "tabular.txt", "repetitions.json"] {
        let s = imported(&format!("google-benchmark/{name}"));
        for id in [
            "copy/64/repeats:3/mean",
            "copy/64/repeats:3/cpu-time-cv",
            "copy/65536/repeats:3/bytes_per_second-sd",
        ] {
            assert_eq!(figure(&s, id).n, Some(3), "{name} {id}");
        }
        let cv = figure(&s, "copy/64/repeats:3/cv");
        let share = value(&s, "copy/64/repeats:3/sd") / value(&s, "copy/64/repeats:3/mean");
        let factor = cv.printed.unit.factor;
        assert!(
            (cv.printed.value * factor - share).abs() < 2e-3,
            "{name}: {cv:?} {share}"
        );
        assert_eq!(
            raw(&s, "copy/65536/repeats:3/cpu-time").values.len(),
            3,
            "{name}"
        );
        let sleeps = figure(&s, "sleeps/min_time:0.050/real_time/mean");
        assert_eq!(
            (sleeps.of, sleeps.n.is_some()),
            (Of::Samples, true),
            "{name}"
        );
    }
    let json = imported("google-benchmark/repetitions.json");
    assert!(json.banners.iter().any(|b| {
        b.text
            .starts_with("***WARNING*** Library was built as DEBUG")
    }));
}

#[test]
fn iceperf_halves_and_only_iceoryx_polls() {
    let s = imported("iceperf/leader.txt");
    assert_eq!(s.figures.len(), 4 * 13);
    let queue = figure(&s, "MESSAGE QUEUE/128 kB/mean");
    assert_eq!(
        (queue.printed.text.as_str(), queue.n),
        ("1.3e+02", Some(100))
    );
    close(queue.printed.half_step, 5.0);
    assert_eq!(queue.printed.unit.factor, 1e-6);
    assert_eq!(
        (queue.method.trip, queue.method.load, queue.method.clients),
        (Some(Trip::Half), Some(Loop::Closed), Some(1))
    );
    assert_eq!(
        (queue.method.wait, queue.method.payload_bytes),
        (Some(Wait::Block), Some(131_072.0))
    );
    assert_eq!(
        figure(&s, "ICEORYX/2 kB/mean").method.wait,
        Some(Wait::Poll)
    );
}

#[test]
fn l4re_prints_a_whole_division() {
    let s = imported("l4re-ipcbench/documented.txt");
    let each = figure(&s, "ipcbench/CPU 0/IPC/cpu-cycles/mean");
    assert_eq!(
        (each.quantity, each.n, each.method.trip),
        (Quantity::Cycles, Some(20_000), Some(Trip::Half))
    );
    let exact = value(&s, "ipcbench/CPU 0/IPC/cpu-cycles/sum") / 20_000.0;
    // Cut and not rounded: 247.43 of 4948611 is printed as 247, and 247.9 would be too.
    assert!(
        (exact - each.printed.value).abs() <= each.printed.half_step
            && each.printed.half_step == 1.0
    );
    assert_eq!(
        figure(&s, "syscallbench/CPU 0/syscall/cpu-cycles/mean")
            .method
            .trip,
        None
    );
    let x86 = imported("l4re-ipcbench/documented-x86.txt");
    assert_eq!(
        figure(&x86, "CPU 0/IPC/insnret-units/mean").quantity,
        Quantity::Instructions
    );
    assert_eq!(
        figure(&x86, "CPU 0/IPC/tsc-units/mean").quantity,
        Quantity::Other
    );
}

#[test]
fn hdrhistogram_has_no_unit_unless_a_comment_says_it() {
    let log = imported("hdrhistogram/java.hlog");
    let text = imported("hdrhistogram/java.hgrm");
    for s in [&log, &text] {
        assert!(
            s.figures
                .iter()
                .all(|f| matches!(f.quantity, Quantity::Other | Quantity::Count)
                    && f.printed.unit.dimension == Dimension::One)
        );
    }
    // The log's intervals with and without tag are the text's 800,000.
    let n = |id: &str| figure(&log, id).n.unwrap();
    assert_eq!(n("histogram/median") + n("histogram last/median"), 800_000);
    assert_eq!(figure(&text, "histogram/mean").n, Some(800_000));
    assert_eq!(figure(&text, "histogram/mean").printed.text, "0.151");
    close(figure(&text, "histogram/max").printed.value, 12_115.967);
    let max = figure(&log, "histogram/max");
    assert!((max.printed.value / 1e3 - 12_115.967).abs() <= max.printed.half_step / 1e3 + 0.001);
    assert_eq!(
        figure(&text, "histogram/median").statistic,
        Statistic::Percentile(50.0)
    );
}

#[test]
fn iperf3_measures_throughput_and_repeats_the_kernel() {
    let s = imported("iperf3/udp.json");
    let sent = figure(&s, "sent/rate");
    close(value(&s, "sent/rate"), 49_985_167.111_653_31 / 8.0);
    assert_eq!(
        (sent.quantity, sent.method.payload_bytes),
        (Quantity::Bandwidth, Some(1_000.0))
    );
    assert_eq!(
        (sent.method.load, sent.method.sender_rate),
        (Some(Loop::Open), Some(6_250.0))
    );
    close(
        value(&s, "sent/size-sum") / value(&s, "sent/duration-value"),
        18_745_000.0 / 3.000_09,
    );
    assert_eq!(
        figure(&s, "datagrams/lost_packets").quantity,
        Quantity::Loss
    );
    assert!(
        s.figures.iter().all(|f| f.quantity != Quantity::Latency),
        "UDP has no round trip"
    );
    let tcp = imported("iperf3/tcp.json");
    let rtt = figure(&tcp, "stream 0 kernel round trip/mean");
    assert_eq!(
        (rtt.printed.text.as_str(), rtt.method.trip, rtt.n),
        ("88", Some(Trip::Round), None)
    );
    assert_eq!(rtt.method.tool.as_deref(), Some("the kernel (TCP_INFO)"));
    assert_eq!(
        imported("iperf3/bidir.json")
            .figures
            .iter()
            .filter(|f| f.id.ends_with("/rate"))
            .count(),
        4
    );
}

#[test]
fn cyclictest_says_the_same_in_text_and_json() {
    let (text, json) = (
        imported("cyclictest/histogram.txt"),
        imported("cyclictest/histogram.json"),
    );
    for id in [
        "thread 0/min",
        "thread 0/mean",
        "thread 0/max",
        "thread 1/mean",
        "thread 1/max",
    ] {
        let (t, j) = (figure(&text, id), figure(&json, id));
        assert_eq!((t.n, j.n), (Some(2_000), Some(2_000)), "{id}");
        assert!(
            (t.printed.value - j.printed.value).abs() <= t.printed.half_step,
            "{id}"
        );
        assert_eq!(t.printed.unit.factor, 1e-6);
    }
    assert_eq!(figure(&json, "thread 1/mean").printed.text, "103.58");
    assert_eq!(value(&text, "thread 1/overflows"), 15.0);
    let verbose = imported("cyclictest/verbose.txt");
    let thread = raw(&verbose, "thread 0/time");
    assert_eq!((thread.values.len(), thread.line), (60, 6));
    close(thread.values[0], 101e-6);
    // A terminal shows the last line of each thread.
    let live = imported("cyclictest/live.txt");
    assert_eq!(
        (
            figure(&live, "thread 0/max").n,
            value(&live, "thread 1/max")
        ),
        (Some(300), 4_687e-6)
    );
}

#[test]
fn nanoseconds_of_cyclictest_are_known_by_its_command_line() {
    let json = String::from_utf8(crate::import::samples::bytes("cyclictest/summary.json")).unwrap();
    let json = json.replace("-t2 -i 1000", "-t2 -N -i 1000");
    let s = dyno_audit::import::import(&mut json.as_bytes(), "x", None).unwrap();
    assert_eq!(figure(&s, "thread 0/min").printed.unit.factor, 1e-9);
}

#[test]
fn sockperf_halves_unless_it_says_rtt() {
    let half = imported("sockperf/ping-pong.txt");
    let round = imported("sockperf/full-rtt.txt");
    assert_eq!(figure(&half, "client/mean").method.trip, Some(Trip::Half));
    assert_eq!(figure(&round, "client/mean").method.trip, Some(Trip::Round));
    assert_eq!(figure(&half, "client/p99").n, Some(51_240));
    assert_eq!(figure(&half, "client/mean").conditions["transport"], "TCP");
    let load = imported("sockperf/under-load.txt");
    assert_eq!(
        (
            figure(&load, "client/p99").n,
            value(&load, "client/dropped")
        ),
        (Some(15), 0.0)
    );
    let throughput = imported("sockperf/throughput.txt");
    let bytes = value(&throughput, "client/bandwidth-rate");
    assert!(
        (bytes / (1_000.0 * value(&throughput, "client/sent-rate")) - 1.0).abs() < 1e-4,
        "{bytes}"
    );
}

#[test]
fn the_longer_summary_of_sockperf_says_the_same() {
    let text = String::from_utf8(crate::import::samples::bytes("sockperf/ping-pong.txt")).unwrap();
    let read = |text: &str| dyno_audit::import::import(&mut text.as_bytes(), "x", None);
    let short = read(&text).unwrap();
    // `client.cpp` of the versions after 3.7.
    let more = "(std-dev=108.156, mean-ad=12.022, median-ad=0.911, siqr=0.751, cv=7.152, std-error=0.478, 99.0% ci=[13.892, 16.354])";
    let longer = text.replace("(std-dev=108.156)", more);
    let long = read(&longer).unwrap();
    assert_ne!(longer, text);
    for (a, b) in short.figures.iter().zip(&long.figures) {
        assert_eq!((&a.id, &a.printed), (&b.id, &b.printed));
    }
    assert_eq!(short.figures.len(), long.figures.len());
    let cut = longer.replace(" ci=[13.892, 16.354])", "");
    assert!(read(&cut).unwrap_err().reason.contains("shorter than"));
}

#[test]
fn lost_messages_that_a_log_names_count_in_its_percentiles() {
    let whole = String::from_utf8(crate::import::samples::bytes("hdrhistogram/java.hlog")).unwrap();
    let read = |lost: u64| {
        let text = format!("#lost: {lost} messages, infinitely late\n{whole}");
        dyno_audit::import::import(&mut text.as_bytes(), "x", None).unwrap()
    };
    let (none, without) = (read(0), imported("hdrhistogram/java.hlog"));
    let ids = |s: &Statements| s.figures.iter().map(|f| f.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&none), ids(&without));
    let arrived = figure(&none, "histogram/max").n.unwrap();
    // As many are lost as arrive: the median is the last that has a value.
    let half = read(arrived);
    let max = figure(&half, "histogram/max");
    let median = figure(&half, "histogram/median");
    assert_eq!(max.n, Some(arrived));
    assert_eq!(
        (median.n, median.printed.value),
        (Some(2 * arrived), max.printed.value)
    );
    close(value(&half, "histogram/lost"), arrived as f64);
    let beyond = |s: &Statements, tag: &str| {
        let p = |f: &&Figure| f.data == tag && matches!(f.statistic, Statistic::Percentile(_));
        s.figures.iter().filter(p).count()
    };
    assert_eq!(beyond(&half, "histogram"), 1);
    assert_eq!(beyond(&read(arrived + 1), "histogram"), 0);
    // They are of the intervals that follow, and of no other tag.
    assert_eq!(
        beyond(&half, "histogram last"),
        beyond(&none, "histogram last")
    );
}

#[test]
fn the_raw_log_of_sockperf_bears_its_summary() {
    let s = imported("sockperf/full-log.csv");
    let raw = raw(&s, "client/latency");
    assert_eq!(Some(raw.values.len() as u64), figure(&s, "client/mean").n);
    assert_eq!(raw.values.len(), raw.sent.len());
    let mean = raw.values.iter().sum::<f64>() / raw.values.len() as f64;
    assert!((mean - value(&s, "client/mean")).abs() < 1e-9, "{mean}");
    let max = raw.values.iter().copied().fold(0.0, f64::max);
    close(max, value(&s, "client/max"));
}

#[test]
fn ddsperf_has_statistics_of_each_interval() {
    let s = imported("ddsperf/ping.txt");
    let p99 = figure(&s, "peer 1, interval 1/p99");
    assert_eq!(
        (p99.n, p99.method.trip, p99.method.payload_bytes),
        (Some(16_242), Some(Trip::Half), Some(12.0))
    );
    close(value(&s, "peer 1, interval 1/p99"), 847.896e-6);
    let means = raw(&s, "peer 1/means");
    assert_eq!(means.each, [16_242, 24_657, 24_614]);
    let sub = imported("ddsperf/sub.txt");
    close(value(&sub, "subscriber 1, interval 2/rate"), 1_000.0);
    close(
        value(&sub, "subscriber 1, interval 2/bandwidth-rate"),
        100_000.0,
    );
}

#[test]
fn performance_test_has_a_row_for_each_second() {
    let s = imported("performance_test/documented.csv");
    let max = figure(&s, "interval 3/max");
    assert_eq!(
        (max.n, max.method.trip, max.method.clocks),
        (Some(999), Some(Trip::OneWay), None)
    );
    assert_eq!(
        (max.method.sender_rate, max.conditions["stack"].as_str()),
        (Some(1_000.0), "ROS2")
    );
    assert_eq!(value(&s, "interval 3/lost"), 1.0);
    assert_eq!(raw(&s, "run/means").each, [998, 1_000, 999]);
    assert!(
        s.figures.iter().all(|f| f.statistic != Statistic::Sd),
        "its variance has no unit that holds"
    );
}

#[test]
fn rtiperftest_says_the_same_in_all_its_forms() {
    for name in [
        "documented-publisher.txt",
        "documented-publisher.csv",
        "documented.json",
    ] {
        let s = imported(&format!("rtiperftest/{name}"));
        let mean = s
            .figures
            .iter()
            .find(|f| f.statistic == Statistic::Mean)
            .unwrap();
        assert_eq!(
            (mean.method.trip, mean.n),
            (Some(Trip::Half), None),
            "{name}"
        );
        let p = s
            .figures
            .iter()
            .filter(|f| matches!(f.statistic, Statistic::Percentile(_)))
            .count();
        assert!(p >= 5, "{name}: {p}");
    }
    let text = imported("rtiperftest/documented-publisher.txt");
    assert_eq!(
        raw(&text, "latency intervals 100 B/latency").values,
        [69e-6, 92e-6, 47e-6]
    );
    let rate = imported("rtiperftest/documented-subscriber.csv");
    close(
        value(&rate, "throughput 64 B/bandwidth-rate"),
        1_304.7e6 / 8.0,
    );
}

#[test]
fn percentiles_of_fio_are_known_to_the_width_of_its_buckets() {
    let s = imported("fio/randrw.json");
    let p99 = figure(&s, "rr/read/clat_ns/p99");
    assert_eq!((p99.printed.value, p99.n), (146_432.0, Some(16_902)));
    assert_eq!(p99.printed.half_step, 146_432.0 / 128.0);
    assert_eq!(
        figure(&s, "rr/read/lat_ns/mean").printed.text,
        "83001.329665"
    );
    close(value(&s, "rr/read/rate"), 8_417.330_677);
    assert!(
        s.figures.iter().all(|f| !f.id.contains("slat")),
        "there were none"
    );
}

/// As `--unified_rw_reporting=1` has them.
#[test]
fn directions_of_fio_that_are_reported_as_one_are_read() {
    let text = String::from_utf8(bytes("fio/json-plus.json")).unwrap();
    let mixed = text.replace("\"read\" :", "\"mixed\" :");
    let s = import(&mut mixed.as_bytes(), "mixed", Some(Tool::Fio)).unwrap();
    let apart = imported("fio/json-plus.json");
    assert_eq!(s.figures.len(), apart.figures.len());
    close(value(&s, "rr/mixed/rate"), value(&apart, "rr/read/rate"));
}

#[test]
fn wrk_corrects_its_latencies_and_wrk2_sends_by_the_clock() {
    let (corrected, open) = (imported("wrk/wrk.txt"), imported("wrk/documented-wrk2.txt"));
    let p99 = figure(&corrected, "http://127.0.0.1:8765/ (2 threads)/p99");
    // With what it adds to its samples they are not those of four clients that wait.
    assert_eq!(
        (
            p99.method.load,
            p99.method.clients,
            p99.conditions["connections"].as_str(),
            p99.printed.text.as_str()
        ),
        (None, None, "4", "28.02")
    );
    let p99 = figure(&open, "http://127.0.0.1:80/index.html (2 threads)/p99");
    assert_eq!(
        (p99.method.load, p99.method.clients, p99.n),
        (Some(Loop::Open), None, Some(39_500))
    );
    close(
        value(
            &corrected,
            "http://127.0.0.1:8765/ (2 threads)/bandwidth-rate",
        ),
        288.09 * 1_024.0,
    );
}

#[test]
fn intervals_of_criterion_are_left_out() {
    let s = imported("criterion/console.txt");
    assert_eq!(figure(&s, "copy/65536/value").printed.text, "3.4507");
    assert_eq!(s.figures.len(), 5);
    let estimates = imported("criterion/estimates.json");
    assert_eq!(
        (
            estimates.figures.len(),
            figure(&estimates, "criterion/sd").of
        ),
        (4, Of::Means)
    );
    let sample = imported("criterion/sample.json");
    let times = raw(&sample, "criterion/time");
    assert_eq!((times.each[19], times.values.len()), (80, 20));
    close(times.values[19], 92_708_145e-9 / 80.0);
}

#[test]
fn kuksa_perf_is_one_way_by_one_clock() {
    let s = imported("kuksa-perf/own-numbers.txt");
    let p95 = figure(&s, "all groups/p95");
    // `95% in under: 1.933 ms` above is a mean of the groups' percentiles.
    assert_eq!(
        (p95.printed.text.as_str(), p95.n, p95.method.clocks),
        ("1.931", Some(1_250), Some(1))
    );
    assert_eq!(value(&s, "all groups/skipped"), 250.0);
}
