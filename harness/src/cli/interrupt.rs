//! The user's wish to end a run before its time.

use std::time::Instant;

use tokio::sync::watch;

/// Turns true when the user interrupts.
pub(super) fn interrupts() -> watch::Receiver<bool> {
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(async move {
        if signalled().await {
            let _ = stop.send(true);
        }
        // Kept until the run ends: a closed channel would look like a signal.
        stop.closed().await;
    });
    stopped
}

/// Turns true when the user interrupts, or at that time.
pub(super) fn ended_by(
    mut interrupted: watch::Receiver<bool>,
    due: Option<Instant>,
) -> watch::Receiver<bool> {
    let (stop, stopped) = watch::channel(*interrupted.borrow());
    tokio::spawn(async move {
        let over = async {
            match due {
                Some(due) => tokio::time::sleep_until(due.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = interrupted.changed() => {}
            () = over => {}
            () = stop.closed() => {}
        }
        let _ = stop.send(true);
        stop.closed().await;
    });
    stopped
}

/// Waits for the user's Ctrl-C, or for whoever else wants the run to end.
pub(super) async fn signalled() -> bool {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};

        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            return tokio::select! {
                pressed = tokio::signal::ctrl_c() => pressed.is_ok(),
                asked = terminate.recv() => asked.is_some(),
            };
        }
    }
    tokio::signal::ctrl_c().await.is_ok()
}
