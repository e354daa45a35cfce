//! Connections: taken, bounded, and brought to an end.

use crate::answer::{Answer, Body};
use crate::error::ServeError;
use crate::folder::Folder;
use crate::gate::Gate;
use crate::peer::Peers;
use crate::places::{Place, Places};
use crate::site::Site;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use rustix::net::sockopt;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{interval, sleep, timeout};
use tokio_util::sync::CancellationToken;

/// Connections at once. Further ones take the places of others.
const CONNECTIONS: usize = 768;
/// Connections that the kernel holds until they are accepted; otherwise it would let some of many that come at
/// once try again after a second.
const BACKLOG: i32 = 4096;
/// A request's head must be there within this time, and the next one's on a connection that is kept.
const HEAD: Duration = Duration::from_secs(10);
/// The largest head in bytes, and what hyper buffers of an answer.
const BUFFER: usize = 16 << 10;
/// What the kernel buffers of an answer, in bytes: so much of it may be sent that the client has not taken.
const SENT: usize = 128 << 10;
/// The next part of an answer must be taken within this time.
const UNTAKEN_MS: u32 = 20_000;
const UNTAKEN: Duration = Duration::from_millis(UNTAKEN_MS as u64);
/// The time between two looks for clients that did not.
const LOOK: Duration = Duration::from_secs(1);
/// What answers under way may take when the server ends.
const GRACE: Duration = Duration::from_secs(2);
/// Threads for reading and rendering. They end when there is nothing to do.
const THREADS: usize = 8;
const THREADS_KEPT: Duration = Duration::from_secs(5);
/// After an error of accepting, such as too many open files.
const RETRY: Duration = Duration::from_millis(50);

/// What is served, and where.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder of runs.
    pub folder: PathBuf,
    /// Where to listen; port 0: any free one.
    pub listen: SocketAddr,
    /// Names that the server answers to, beside `localhost` and its address.
    pub hosts: Vec<String>,
    /// Other machines may reach it.
    pub network: bool,
}

/// A server that has its port.
#[derive(Debug)]
pub struct Server {
    listener: std::net::TcpListener,
    address: SocketAddr,
    gate: Gate,
    site: Arc<Site>,
    stop: CancellationToken,
}

/// Ends a server from another thread.
#[derive(Debug, Clone)]
pub struct Stopper(CancellationToken);

impl Stopper {
    /// No new connection is taken; answers under way may end within two seconds.
    pub fn stop(&self) {
        self.0.cancel();
    }
}

impl Server {
    /// Opens the folder and takes the port.
    ///
    /// # Errors
    ///
    /// When the folder is none of runs, when the address could be reached from other machines and that is
    /// not asked for, or when the port is taken.
    pub fn bind(options: &Options) -> Result<Server, ServeError> {
        let address = options.listen;
        if !options.network && !address.ip().to_canonical().is_loopback() {
            return Err(ServeError::NotLoopback { address });
        }
        let folder = Folder::open(&options.folder)?;
        let failed = |source| ServeError::Listen { address, source };
        let listener = std::net::TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        // An improvement only.
        let _ = rustix::net::listen(&listener, BACKLOG);
        Ok(Server {
            address: listener.local_addr().map_err(failed)?,
            listener,
            gate: Gate::new(options.hosts.clone()),
            site: Arc::new(Site::new(folder, &options.folder)),
            stop: CancellationToken::new(),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What ends it.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.stop.clone())
    }

    /// Answers until it is stopped; returns at the latest two seconds after that.
    ///
    /// # Errors
    ///
    /// When it cannot start.
    pub fn run(self) -> Result<(), ServeError> {
        // One thread serves what is made; only what reads and renders takes others.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(THREADS)
            .thread_keep_alive(THREADS_KEPT)
            .thread_name("dyno-serve")
            .build()
            .map_err(ServeError::Start)?;
        let result = runtime.block_on(self.serve());
        // A report that is being made is of no use to anybody.
        runtime.shutdown_background();
        result
    }

    async fn serve(self) -> Result<(), ServeError> {
        let listener = TcpListener::from_std(self.listener).map_err(ServeError::Start)?;
        let places = Places::new(connections());
        let (peers, gate) = (Peers::new(), Arc::new(self.gate));
        let graceful = GracefulShutdown::new();
        let mut look = interval(LOOK);
        loop {
            let (stream, remote) = tokio::select! {
                biased;
                () = self.stop.cancelled() => break,
                _ = look.tick() => {
                    places.end_those_idle_for(UNTAKEN);
                    continue;
                }
                accepted = accept(&listener) => accepted,
            };
            // None: the client is gone already.
            let Ok(local) = stream.local_addr() else {
                continue;
            };
            let place = places.take(peers.of(remote, local));
            let answer = service_fn({
                let (place, gate, site) = (place.clone(), gate.clone(), self.site.clone());
                move |request| {
                    let (place, gate, site) = (place.clone(), gate.clone(), site.clone());
                    let local = local.ip();
                    async move { Ok::<_, Infallible>(answer(request, place, &gate, site, local).await) }
                }
            });
            // All three are improvements only.
            let _ = stream.set_nodelay(true);
            let _ = sockopt::set_socket_send_buffer_size(&stream, SENT);
            let _ = sockopt::set_tcp_user_timeout(&stream, UNTAKEN_MS);
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD)
                .max_buf_size(BUFFER)
                .serve_connection(TokioIo::new(stream), answer);
            let connection = graceful.watch(connection);
            tokio::spawn(async move {
                // What goes wrong with a connection is the client's affair.
                tokio::select! {
                    _ = connection => {}
                    () = place.lost() => {}
                }
            });
        }
        drop(listener);
        // What has not ended by then is dropped with the runtime.
        let _ = timeout(GRACE, graceful.shutdown()).await;
        Ok(())
    }
}

/// How many connections there are files for, with as many left for what is read. The limit on open files is raised
/// for it as far as it may be.
fn connections() -> usize {
    let wanted = 2 * CONNECTIONS as u64;
    let limit = getrlimit(Resource::Nofile);
    let now = limit.current.unwrap_or(wanted);
    let may = limit.maximum.unwrap_or(wanted).min(wanted);
    let raised = Rlimit {
        current: Some(may),
        ..limit
    };
    let files = match now < may && setrlimit(Resource::Nofile, raised).is_ok() {
        true => may,
        false => now.min(wanted),
    };
    usize::try_from(files / 2).unwrap_or(CONNECTIONS).max(1)
}

/// The next connection, and where it comes from.
async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            // The client is gone, or this process has no room; either passes.
            Err(_) => sleep(RETRY).await,
        }
    }
}

async fn answer(
    request: hyper::Request<hyper::body::Incoming>,
    place: Arc<Place>,
    gate: &Gate,
    site: Arc<Site>,
    local: IpAddr,
) -> hyper::Response<Body> {
    place.asks();
    let (head, _unread) = request.into_parts();
    let answer = match gate.check(&head, local) {
        Ok(()) => {
            let (path, query) = (head.uri.path(), head.uri.query().unwrap_or_default());
            site.answer(place.peer, path, query).await
        }
        Err(refusal) => Answer::refused(refusal),
    };
    answer.into_response(&head.headers, place)
}
