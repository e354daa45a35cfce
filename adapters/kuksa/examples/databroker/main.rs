//! A stand-in for Kuksa's databroker, for tests alone: no registry has the program, and the adapter shall be run in every test. It answers as
//! databroker 0.7.0 does to what the adapter asks, takes that program's arguments, and keeps no other promise of it. Nothing that it
//! is part of is a figure of Kuksa.

#![allow(clippy::unwrap_used, reason = "only tests and studies run it")]

mod broker;
mod grpc;
mod token;
mod v1;
mod viss;

use broker::Broker;
use kuksa_rust_sdk::{v1_proto, v2_proto};
use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use token::Guard;
use tokio::net::TcpListener;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Identity, Server, ServerTlsConfig};

/// The arguments of databroker 0.7.0 that Dyno's stacks give, and one of our own.
#[derive(Default)]
struct Arguments {
    address: String,
    port: u16,
    vss: String,
    certificate: Option<String>,
    key: Option<String>,
    token_key: Option<String>,
    viss_port: Option<u16>,
    /// Ours: it knows no call of kuksa.val.v2, as databrokers before 0.5.
    is_old: bool,
}

fn arguments() -> Result<Arguments, Box<dyn Error>> {
    let mut all = Arguments::default();
    let mut words = std::env::args().skip(1);
    let (mut has_viss, mut viss_port) = (false, 8090);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} wants a value"));
        match word.as_str() {
            "--insecure" => {}
            "--enable-viss" => has_viss = true,
            "--old" => all.is_old = true,
            "--address" => all.address = value()?,
            "--port" => all.port = value()?.parse()?,
            "--vss" => all.vss = value()?,
            "--tls-cert" => all.certificate = Some(value()?),
            "--tls-private-key" => all.key = Some(value()?),
            "--jwt-public-key" => all.token_key = Some(value()?),
            "--viss-port" => viss_port = value()?.parse()?,
            other => return Err(format!("there is no option {other}").into()),
        }
    }
    all.viss_port = has_viss.then_some(viss_port);
    Ok(all)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments = arguments()?;
    let place = |port| Ok::<_, Box<dyn Error>>(SocketAddr::new(arguments.address.parse()?, port));
    let tree = serde_json::from_str(&std::fs::read_to_string(&arguments.vss)?)?;
    let broker = Arc::new(Broker::new(&tree));
    let guard = match &arguments.token_key {
        Some(file) => Guard::of(&std::fs::read_to_string(file)?)?,
        None => Guard::default(),
    };
    let mut server = Server::builder();
    if let (Some(certificate), Some(key)) = (&arguments.certificate, &arguments.key) {
        let identity = Identity::from_pem(std::fs::read(certificate)?, std::fs::read(key)?);
        server = server.tls_config(ServerTlsConfig::new().identity(identity))?;
    }
    if let Some(port) = arguments.viss_port {
        let listener = TcpListener::bind(place(port)?).await?;
        tokio::spawn(viss::serve(listener, Arc::clone(&broker)));
    }
    let incoming = TcpIncoming::bind(place(arguments.port)?)?.with_nodelay(Some(true));
    let v1 = v1_proto::val_server::ValServer::new(v1::Service(Arc::clone(&broker)));
    let v2 = v2_proto::val_server::ValServer::new(grpc::Service(broker));
    let v2 = InterceptedService::new(v2, guard.clone());
    server
        .add_service(InterceptedService::new(v1, guard))
        .add_optional_service(Some(v2).filter(|_| !arguments.is_old))
        .serve_with_incoming(incoming)
        .await?;
    Ok(())
}
