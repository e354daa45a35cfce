//! `dyno serve`

use crate::cli::ServeArgs;
use crate::exit::{Code, Failure, Result};
use crate::interrupt::on_each_signal;
use crate::terminal;
use dyno_serve::{Options, ServeError, Server};

/// Serves a folder of runs until it is ended, which is no failure.
pub(crate) fn serve(args: &ServeArgs) -> Result {
    let options = Options {
        folder: args.folder.clone(),
        listen: args.listen,
        hosts: args.hosts.clone(),
        network: args.network,
    };
    let server = Server::bind(&options).map_err(|e| Failure::with(code(&e))(e))?;
    let stopper = server.stopper();
    on_each_signal(move || stopper.stop())?;
    let address = server.address();
    if !address.ip().to_canonical().is_loopback() {
        terminal::say(format!(
            "warning: other machines can reach {address}; everyone who can reach it sees all runs of {}, without a password",
            args.folder.display()
        ));
    }
    terminal::print(&format!(
        "{} is shown at http://{address}/ until Ctrl-C\n",
        args.folder.display()
    ))?;
    server.run().map_err(Failure::with(Code::Error))?;
    Ok(Code::Success.into())
}

fn code(error: &ServeError) -> Code {
    match error {
        ServeError::Folder { .. } | ServeError::IsARun { .. } => Code::Store,
        ServeError::NotLoopback { .. } => Code::Usage,
        ServeError::Listen { .. } | ServeError::Start(_) => Code::Error,
    }
}
