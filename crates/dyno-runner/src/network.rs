//! Joins namespaces by a switch: a bridge in a namespace of its own, and from each host a link to it,
//! shaped in both directions. The machine's own network is not touched.
//!
//! ```text
//! host h1: eth0 ─── p1 ┐
//! host h2: eth0 ─── p2 ┤ switch: br0
//! ```
//!
//! Each end of a link sends through a token bucket (tc-tbf(8)): the host's end is its uplink, the
//! switch's end its downlink. So a message from one host to another passes two shapers, as it passes two
//! wires and a switch that stores and forwards.

mod device;
pub(crate) mod namespace;
mod watch;
pub(crate) mod xdp;

use crate::error::HostsError;
use crate::programs::find;
use dyno_model::Testbed;
use dyno_model::plan::{Link, Reach};
use namespace::{DEVICE, Namespace, NetworkNamespace};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use xdp::Dropper;

/// Bytes on an Ethernet wire beside those that the kernel counts: preamble and start 8, checksum 4,
/// gap 12 (IEEE 802.3, clauses 3 and 4). They are added to each frame; segments of TCP that the kernel
/// keeps together as far as here count as one, so a stream of TCP gets up to 1.6 % more.
const OVERHEAD: u32 = 24;
/// What a link that was idle may send at once, as a time at its rate: a shaper that is woken later than
/// that gives rate away, and on busy CPUs timers are late by hundreds of microseconds. In return what is
/// much shorter does not feel the rate of an idle link.
const BURST_SECONDS: f64 = 1e-3;
/// Two frames.
const LEAST_BURST: f64 = 4_000.0;
/// Of all hosts: one subnet, without a gateway.
pub(crate) const PREFIX: u8 = 24;
/// Discovery by multicast needs a route, and there is no default route.
pub(crate) const ROUTE: &str = "route add 224.0.0.0/4 dev eth0\n";

/// The switch. The links end with the namespaces of their hosts, those to virtual machines with the switch.
pub(crate) struct Network {
    pub(crate) switch: NetworkNamespace,
}

impl Network {
    /// What the switch dropped in front of the link to each host since it was made, in the hosts' order.
    pub(crate) fn dropped(&self, hosts: usize) -> io::Result<Vec<u64>> {
        let queues = self.switch.within(|| Ok(dyno_measure::read_queues()))?;
        let of = |number| queues.get(&port(number)).map_or(0, |queue| queue.dropped);
        Ok((1..=hosts).map(of).collect())
    }

    /// Gives both ends of the link to a host, counted from 0, another rate and buffer. What waits there goes on waiting.
    pub(crate) fn reshape(
        &self,
        number: usize,
        host: &NetworkNamespace,
        link: &Link,
    ) -> Result<(), HostsError> {
        let tc = find("tc").unwrap_or_else(|| "tc".into());
        let step = "give a link another rate";
        let ends = [(host, DEVICE.to_owned()), (&self.switch, port(number + 1))];
        let ends = ends.map(|(within, device)| {
            let lines = shape(&device, link);
            Step::start(within, Command::new(&tc), &lines, step)
        });
        ends.into_iter().try_for_each(|end| end?.end())
    }

    /// What can drop packets that come from a host, counted from 0, where its link ends.
    pub(crate) fn dropper(&self, host: usize) -> io::Result<Dropper> {
        self.switch.dropper_at(&port(host + 1))
    }
}

/// The switch's end of the link to a host, counted from 1.
pub(crate) fn port(number: usize) -> String {
    format!("p{number}")
}

/// The programs that set up a network.
struct Tools {
    ip: PathBuf,
    tc: PathBuf,
}

impl Tools {
    fn find(testbed: &Testbed) -> Result<Self, HostsError> {
        let needed = |program: &'static str| {
            find(program).ok_or_else(|| HostsError::Tool {
                testbed: testbed.name.clone(),
                program,
            })
        };
        Ok(Tools {
            ip: needed("ip")?,
            tc: needed("tc")?,
        })
    }
}

/// Whether a network of namespaces can be made here.
pub(crate) fn check(testbed: &Testbed) -> Result<(), HostsError> {
    Tools::find(testbed)?;
    new_namespace(testbed).map(drop)
}

fn new_namespace(testbed: &Testbed) -> Result<NetworkNamespace, HostsError> {
    NetworkNamespace::new().map_err(|source| HostsError::Rights {
        testbed: testbed.name.clone(),
        source,
    })
}

/// Makes the switch, the hosts and their links; a virtual machine has none there but the end of its link. What can be
/// done at once is: it is done before every trial.
pub(crate) fn make(testbed: &Testbed) -> Result<(Vec<Option<Namespace>>, Network), HostsError> {
    let tools = Tools::find(testbed)?;
    let switch = new_namespace(testbed)?;
    let mut networks = Vec::new();
    let mut ip = Command::new(&tools.ip);
    let mut cables = String::from(
        "link set lo up\n\
         link add br0 type bridge stp_state 0 forward_delay 0 mcast_snooping 0\n\
         link set br0 up\n",
    );
    for (number, host) in (1..).zip(&testbed.hosts) {
        if matches!(host.reach, Reach::Vm(_)) {
            let port = port(number);
            cables.push_str(&format!(
                "tuntap add {port} mode tap\n\
                 link set {port} master br0 up\n"
            ));
            networks.push(None);
            continue;
        }
        let network = new_namespace(testbed)?;
        let (port, there) = (port(number), network.path_for(&mut ip));
        cables.push_str(&format!(
            "link add {port} type veth peer name eth0 netns {there}\n\
             link set {port} master br0 up\n"
        ));
        networks.push(Some(network));
    }
    Step::start(&switch, ip, &cables, "make the switch and its links")?.end()?;
    let mut steps = Vec::new();
    let mut downlinks = String::new();
    for (number, (host, network)) in (1..).zip(testbed.hosts.iter().zip(&networks)) {
        let (name, address) = (&host.name, &host.address);
        let Some(network) = network else { continue };
        let configuration = format!(
            "link set lo up\n\
             address add {address}/{PREFIX} dev eth0\n\
             link set eth0 up\n\
             {ROUTE}"
        );
        let step = format!("give {name} the address {address}");
        let ip = Command::new(&tools.ip);
        steps.push(Step::start(network, ip, &configuration, &step)?);
        if let Some(link) = &host.link {
            let step = format!("shape the link of {name}");
            let tc = Command::new(&tools.tc);
            steps.push(Step::start(network, tc, &shape(DEVICE, link), &step)?);
            downlinks.push_str(&shape(&port(number), link));
        }
    }
    if !downlinks.is_empty() {
        let (tc, step) = (Command::new(&tools.tc), "shape the links of the switch");
        steps.push(Step::start(&switch, tc, &downlinks, step)?);
    }
    for step in steps {
        step.end()?;
    }
    let watched = testbed.hosts.iter().zip(networks).map(|(host, network)| {
        let watched = network.map(|network| Namespace::new(&host.name, network));
        watched
            .transpose()
            .map_err(|e| HostsError::setup(format!("watch the link of {}", host.name), e))
    });
    Ok((watched.collect::<Result<_, _>>()?, Network { switch }))
}

/// The command for `tc` that gives one end of a link its rate and its buffer, whatever they were.
fn shape(device: &str, link: &Link) -> String {
    let burst = (link.rate_bits as f64 / 8.0 * BURST_SECONDS).max(LEAST_BURST);
    let (rate, buffer) = (link.rate_bits, link.buffer_bytes);
    format!(
        "qdisc replace dev {device} root tbf rate {rate}bit burst {burst:.0} limit {buffer} overhead \
         {OVERHEAD}\n"
    )
}

/// `ip` or `tc`, at work within a namespace.
struct Step {
    child: Child,
    /// What it does.
    step: String,
    program: String,
}

impl Step {
    /// Has `tool` execute lines of commands.
    fn start(
        within: &NetworkNamespace,
        mut tool: Command,
        lines: &str,
        step: &str,
    ) -> Result<Self, HostsError> {
        let program = tool.get_program().to_string_lossy().into_owned();
        within.enter(&mut tool);
        let mut child = tool
            .args(["-batch", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| HostsError::setup(step, format!("cannot start {program}: {e}")))?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that ends early says why.
            let _ = stdin.write_all(lines.as_bytes());
        }
        let step = step.to_owned();
        Ok(Step {
            child,
            step,
            program,
        })
    }

    /// Waits until it has executed them.
    fn end(self) -> Result<(), HostsError> {
        let Step {
            child,
            step,
            program,
        } = self;
        let output = child.wait_with_output();
        let output = output.map_err(|e| HostsError::setup(&step, format!("{program}: {e}")))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let said: Vec<&str> = said.lines().map(str::trim).collect();
        let said = said.join("; ");
        Err(HostsError::setup(
            step,
            format!("{program} said: {said}; does the kernel have veth, bridge and sch_tbf?"),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_burst_is_a_millisecond_and_at_least_two_frames() {
        let shaped = |rate_bits| {
            shape(
                "eth0",
                &Link {
                    rate_bits,
                    buffer_bytes: 262_144,
                },
            )
        };
        assert_eq!(
            shaped(1_000_000_000),
            "qdisc replace dev eth0 root tbf rate 1000000000bit burst 125000 limit 262144 overhead 24\n"
        );
        assert!(shaped(1_000_000).contains(" burst 4000 "));
    }
}
