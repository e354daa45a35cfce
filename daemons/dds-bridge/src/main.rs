//! zenohd with zenoh's plugin for DDS in it.
//!
//! A released zenohd loads its plugins from shared libraries that the very same compiler built with the very same features. So zenohd
//! and plugin are one program here, as they are in `zenoh-bridge-dds`, which no registry has. What it does is theirs: this file reads the
//! configuration, declares the plugin and starts the router.

use std::process::ExitCode;
use zenoh::Config;
use zenoh::internal::plugins::PluginsManager;
use zenoh::internal::runtime::RuntimeBuilder;
use zenoh_plugin_dds::DDSPlugin;

const USAGE: &str = "usage: zenohd-dds CONFIGURATION

  CONFIGURATION  a file of zenoh's, in JSON5, with an entry `plugins: { dds: {…} }`";

#[tokio::main]
async fn main() -> ExitCode {
    zenoh::init_log_from_env_or("warn");
    let mut arguments = std::env::args().skip(1);
    let (Some(file), None) = (arguments.next(), arguments.next()) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match serve(&file).await {
        Ok(never) => match never {},
        Err(message) => {
            eprintln!("zenohd-dds: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the router of the configuration in `file`, until a signal ends the process.
async fn serve(file: &str) -> Result<std::convert::Infallible, String> {
    let config = Config::from_file(file)
        .map_err(|e| format!("cannot read the configuration {file}: {e}"))?;
    let mut plugins = PluginsManager::static_plugins_only();
    plugins.declare_static_plugin::<DDSPlugin, _>("dds", true);
    let mut runtime = RuntimeBuilder::new(config)
        .plugins_manager(plugins)
        .build()
        .await
        .map_err(|e| format!("cannot make the router that {file} describes: {e}"))?;
    runtime
        .start()
        .await
        .map_err(|e| format!("cannot start the router that {file} describes: {e}"))?;
    std::future::pending().await
}
