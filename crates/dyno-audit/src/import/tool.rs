//! The tools whose output can be read, and how it is told whose an output is.

use super::error::{ImportError, Imported};
use super::prefix::{self, Prefix};

macro_rules! tools {
    ($($(#[$doc:meta])* $tool:ident = $word:literal, json [$($json:literal),*], text [$($mark:literal),*];)+) => {
        /// A tool whose output can be read.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Tool { $($(#[$doc])* $tool,)+ }

        impl Tool {
            /// All of them.
            pub const ALL: &[Tool] = &[$(Tool::$tool,)+];

            /// As options and files write it.
            pub const fn as_str(self) -> &'static str {
                match self { $(Tool::$tool => $word,)+ }
            }

            /// Beginnings of lines of which one stands in each text output of the tool and in no other's ([`prefix::find`]); behind a
            /// star, what follows a name.
            const fn marks(self) -> &'static [&'static str] {
                match self { $(Tool::$tool => &[$($mark),*],)+ }
            }

            /// Texts of which one stands in each JSON of the tool and in no other's.
            const fn json_marks(self) -> &'static [&'static str] {
                match self { $(Tool::$tool => &[$($json),*],)+ }
            }
        }
    };
}

tools! {
    /// Google Benchmark, console and JSON.
    GoogleBenchmark = "google-benchmark", json ["\"benchmarks\""], text ["Benchmark Time CPU Iterations"];
    /// The tables of iceoryx's example iceperf.
    Iceperf = "iceperf", json [], text ["#### Measurement Result ####", "| Payload Size"];
    /// Logs of L4Re's ipcbench.
    L4reIpcbench = "l4re-ipcbench", json [], text ["CPU {} done {} IPCs in ", "CPU {} done {} syscalls in "];
    /// HdrHistogram's interval logs.
    HdrLog = "hdr-log", json [], text ["#[Histogram log format", "\"StartTimestamp\""];
    /// wrk and wrk2; before HdrHistogram's percentiles, which wrk2 prints too.
    Wrk2 = "wrk2", json [], text ["Running {}s test @ ", "Running {}m test @ ", "Thread Stats Avg"];
    /// HdrHistogram's percentile texts.
    HdrPercentiles = "hdr-percentiles", json [],
        text ["Value Percentile TotalCount 1/(1-Percentile)", "\"Value\",\"Percentile\",\"TotalCount\",\"1/(1-Percentile)\""];
    /// iperf3's JSON.
    Iperf3 = "iperf3", json ["\"connected\""], text [];
    /// cyclictest: text, histogram, verbose and JSON; the JSON of other programs of rt-tests.
    Cyclictest = "cyclictest", json ["\"rt_test_version"],
        text ["T: 0 (", "# Min Latencies:", "# Histogram", "0: 0: {}"];
    /// sockperf: what it prints, and its full log.
    Sockperf = "sockperf", json [], text ["sockperf: ", "packet, txTime(sec), rxTime(sec)"];
    /// Cyclone DDS's ddsperf.
    Ddsperf = "ddsperf", json [],
        text ["[{}] participant ", "[{}] {} rss:", "[{}] {} size {} total ", "[{}] {} {*} size {} mean "];
    /// CSV and JSON of Apex.AI's performance_test.
    PerformanceTest = "performance_test", json ["\"perf_test_version\"", "\"analysis_results\""],
        text ["T_experiment,", "T_experiment "];
    /// RTI Perftest: legacy text, CSV and JSON.
    Rtiperftest = "rtiperftest", json ["\"perftest\""],
        text ["One way Latency: {}", "Length: {} Latency: Ave", "Packets: {} Packets/s: ", "Length: {} Packets: ", "Length (Bytes),"];
    /// fio's JSON.
    Fio = "fio", json ["\"fio version\""], text [];
    /// criterion: console, `estimates.json` and `sample.json`; the messages of cargo-criterion.
    Criterion = "criterion",
        json ["\"confidence_interval\"", "\"sampling_mode\"", "\"benchmark-complete\""], text ["*time: ["];
    /// Eclipse KUKSA's kuksa-perf, formerly databroker-perf.
    KuksaPerf = "kuksa-perf", json [], text ["{}% in under ", "Sent: {} signal updates"];
    /// Fast DDS's LatencyTest.
    FastddsLatencytest = "fastdds-latencytest", json [], text ["Printing round-trip times in"];
    /// zenoh's example z_ping.
    ZPing = "z_ping", json [], text ["{} bytes: seq="];
    /// The benchmarks of iceoryx2.
    Iceoryx2 = "iceoryx2", json [], text ["iceoryx2::{*} ::: Iterations: ", "{*} ::: Iterations: "];
    /// Paths of TIER IV's caret_report.
    Caret = "caret", json [], text ["- target_path_name: "];
    /// VLink's vlink-bench.
    VlinkBench = "vlink-bench", json ["\"planned_case_count\""], text [];
    /// Cyclone DDS's example RoundtripPing.
    CycloneRoundtrip = "cyclone-roundtrip", json [],
        text ["# payloadSize: {} | numSamples:", "# Latency measurements (in us)"];
}

/// What is recognised of a file.
pub(super) struct Known {
    pub(super) tool: Tool,
    pub(super) is_json: bool,
    pub(super) before: Prefix,
}

impl Tool {
    /// From its word.
    pub fn from_word(word: &str) -> Option<Tool> {
        Tool::ALL.iter().copied().find(|t| t.as_str() == word)
    }

    /// The tool that wrote something that begins like this, of `wanted` where that is said: what comes first, unless the lines below it do
    /// not begin as it does.
    pub(super) fn of_head(head: &str, wanted: Option<Tool>) -> Imported<Option<Known>> {
        let lines: Vec<&str> = head.lines().collect();
        let wants = |t: &Tool| wanted.is_none_or(|w| w == *t);
        let all = || Tool::ALL.iter().copied().filter(wants);
        let (mut unsure, mut at, mut may_be_json) = (None, 0, true);
        for (i, line) in lines.iter().enumerate() {
            let (from, rest) = (&lines[i..], &head[at..]);
            at += line.len() + 1;
            let json = line.find('{').filter(|own| is_json(&line[*own..]));
            if let Some(own) = json.filter(|_| may_be_json) {
                // The mark that comes first: a later one may be the name of a member.
                let found = all().filter_map(|t| {
                    let first = t
                        .json_marks()
                        .iter()
                        .filter_map(|mark| rest.find(mark))
                        .min();
                    let named = wanted.is_some() && own == 0 && !t.json_marks().is_empty();
                    Some((first.or(named.then_some(0))?, t))
                });
                let found = found.min_by_key(|(first, _)| *first);
                // Where no mark follows, none follows later.
                may_be_json = found.is_some() || wanted.is_some();
                if let Some((_, tool)) = found {
                    let message = || Prefix::of_message(&line[..own]);
                    let before = Prefix::of(from, own).unwrap_or_else(message);
                    let is_json = true;
                    return Ok(Some(Known {
                        tool,
                        is_json,
                        before,
                    }));
                }
            }
            let found = all().find_map(|t| Some((t, t.mark(line)?)));
            let Some((tool, (mut own, named))) = found else {
                continue;
            };
            // Its own console puts the program's name before each line.
            if tool == Tool::L4reIpcbench
                && let Some(name) = line[..own].trim_end().strip_suffix('|')
            {
                let of_name = |c: char| c.is_alphanumeric() || ['_', '-'].contains(&c);
                own = name.trim_end().trim_end_matches(of_name).len();
            }
            let before = match named {
                Some(mark) => Some(Prefix::of_names(from, own, mark)),
                None => Prefix::of(from, own),
            };
            let Some(mut before) = before else {
                unsure.get_or_insert((i, tool, &line[..own]));
                continue;
            };
            if let (true, Some((_, of, first))) = (before.is_empty(), unsure) {
                let message = Prefix::of_message(first);
                if of == tool && message.is_instant() {
                    before = message;
                }
            }
            let is_json = false;
            return Ok(Some(Known {
                tool,
                is_json,
                before,
            }));
        }
        if let Some((i, tool, before)) = unsure {
            let before: String = before.chars().take(80).collect();
            return Err(ImportError::line(
                i as u64 + 1,
                format!(
                    "this is output of {} with the prefix `{before}`, which the lines below do not \
                     have, so Dyno cannot tell which lines belong to the output; remove the prefix \
                     and import the file again",
                    tool.as_str()
                ),
            ));
        }
        Ok(wanted.map(|tool| Known {
            tool,
            is_json: false,
            before: Prefix::default(),
        }))
    }

    /// Where a mark of the tool begins in a line, and the mark where a name may stand before it.
    pub(super) fn mark(self, line: &str) -> Option<(usize, Option<&'static str>)> {
        self.marks().iter().find_map(|mark| {
            let named = mark.strip_prefix('*');
            Some((prefix::find(named.unwrap_or(mark), line)?, named))
        })
    }

    /// The other tool that this line is surely of.
    pub(super) fn foreign(self, line: &str) -> Option<Tool> {
        let other = |t: &Tool| *t != self && t.mark(line).is_some();
        Tool::ALL.iter().copied().find(other)
    }
}

/// Whether this may be the beginning of a JSON document.
fn is_json(text: &str) -> bool {
    let inner = text.trim_start_matches('{').trim_start();
    // A bracket may close what stands before it.
    text.starts_with('{') && (inner.is_empty() || inner.starts_with(['"', '}', ']']))
}
