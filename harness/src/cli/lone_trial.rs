//! Handles outages of an external host: detection, recovery, and the search for the scenario that stops the host.
//! The scheduler of `run` and the campaigns of `fuzz` share this module.
//!
//! The scenarios that were in progress when the host stopped are played again, one at a time. If the host stops again,
//! the scenario is repeated on a fresh host. The scenario counts as the cause if the host then stops once more, and if
//! an unused host keeps running. The last condition is needed because some hosts stop by themselves.
//!
//! Knows: the target. Never knows: rules, reports.
//!
//! Start at [`HostWatch`] and [`trials`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::run::recent::RECENT;
use crate::run::sentinel::{HostProbe, SentinelConnection};
use crate::wire::version::Version;

use super::target::RemoteHost;

/// The number of outages after which no further scenario is played. Without this limit, a host that stops again and
/// again would be restarted for hours.
const MAX_OUTAGES: u32 = 20;
/// To see whether a host stops by itself, the host is watched without use: for the duration of the scenario plus
/// `GRACE`, but at most for `MAX_IDLE`.
pub(super) const GRACE: Duration = Duration::from_millis(300);
const MAX_IDLE: Duration = Duration::from_secs(30);
/// If a host closes all connections at the same moment, the harness has noticed all closes after this time.
const TOGETHER: Duration = Duration::from_millis(50);

/// The observed state of a target. A target inside of this process always counts as running.
pub(super) struct HostWatch {
    remote: Option<Arc<RemoteHost>>,
    offers: Vec<Version>,
    limit: Duration,
    /// The request that the host has to answer to count as running.
    probe: HostProbe,
    /// Whether the host answered the first look.
    answered: bool,
    /// Whether the host has completed a handshake since the first look.
    shook: bool,
    stopped: watch::Receiver<bool>,
    sentinel: Option<SentinelConnection>,
    /// The time at which the sentinel, an idle connection that shows outages, was closed while other connections were
    /// open.
    cut_at: Option<Instant>,
    outages: u32,
    /// Why no further scenario is played: the host could not be recovered. `None` if scenarios can be played.
    gone: Option<String>,
}

impl HostWatch {
    /// Watches a host that is offered these versions and may take `limit` for an answer. `answered` says
    /// whether the host answered the first look.
    pub(super) fn new(
        remote: Option<Arc<RemoteHost>>,
        offers: &[Version],
        limit: Duration,
        answered: bool,
        stopped: watch::Receiver<bool>,
    ) -> HostWatch {
        let mut watch = HostWatch {
            remote,
            offers: offers.to_vec(),
            limit,
            probe: HostProbe::default(),
            answered,
            shook: false,
            stopped,
            sentinel: None,
            cut_at: None,
            outages: 0,
            gone: None,
        };
        watch.open_sentinel();
        watch
    }

    /// Returns whether the target is a host outside of this process.
    pub(super) fn is_outside(&self) -> bool {
        self.remote.is_some()
    }

    /// Returns why no further scenario is played; `None` if scenarios can be played.
    pub(super) fn gone(&self) -> Option<&str> {
        self.gone.as_deref()
    }

    /// Records whether a scenario completed a handshake.
    pub(super) fn saw(&mut self, shook_hands: bool) {
        self.shook |= shook_hands;
    }

    /// Opens the sentinel if the host answers handshakes. The sentinel is an idle connection: its close shows that the
    /// host may have stopped.
    pub(super) fn open_sentinel(&mut self) {
        let remote = self.remote.as_ref().filter(|_| self.answered);
        self.sentinel =
            remote.map(|remote| SentinelConnection::open(remote.endpoint.clone(), &self.offers));
    }

    /// Checks whether the host answers `listSessions`. If it does, the host counts as hung as soon as it no longer
    /// answers `listSessions`.
    pub(super) async fn probe_sessions(&mut self) {
        if let Some(remote) = &self.remote {
            self.probe = remote.probe(&self.offers, self.limit).await;
        }
    }

    /// Waits until the sentinel has completed its handshake. A close before the handshake proves nothing about
    /// the host.
    pub(super) async fn ready(&self) {
        if let Some(sentinel) = &self.sentinel {
            sentinel.ready(self.limit).await;
        }
    }

    /// Returns whether the sentinel connection was closed.
    pub(super) fn is_cut(&self) -> bool {
        self.sentinel.as_ref().is_some_and(SentinelConnection::is_cut)
    }

    /// Describes the outage of the host, if there is one. `dropped` says whether the host may have closed all
    /// connections: it closed the connections of a scenario, or no connection was open.
    pub(super) async fn trouble(&mut self, dropped: bool) -> Option<String> {
        let remote = self.remote.clone()?;
        // A host that never completed a handshake cannot be observed to stop.
        let shook = self.shook || self.answered;
        if *self.stopped.borrow() || self.gone.is_some() || !shook {
            return None;
        }
        let trouble =
            self.unless_stopped(remote.trouble(&self.offers, self.probe, self.limit)).await?;
        if trouble.is_none() && dropped {
            // Connections that were closed together are not noticed at the same moment.
            tokio::time::sleep(TOGETHER).await;
        }
        let cut = self.is_cut();
        let lately = self.cut_at.is_some_and(|at| at.elapsed() < RECENT);
        let what = match trouble {
            Some(what) => Some(format!("the host {what}")),
            // If a host restarts very quickly, the closed connections are the only sign of the restart.
            None if (cut || lately) && dropped => {
                Some("the host ended every connection and answers again".to_owned())
            }
            None => None,
        };
        if what.is_none() && cut {
            self.cut_at = Some(Instant::now());
            self.open_sentinel();
            self.ready().await;
        }
        what
    }

    /// Waits for the result of `work`. Returns early if the run is stopped.
    async fn unless_stopped<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut stopped = self.stopped.clone();
        tokio::select! {
            biased;
            _ = stopped.wait_for(|stopped| *stopped) => None,
            done = work => Some(done),
        }
    }

    /// Counts an outage and recovers the host. If the recovery fails, no further scenario is played.
    pub(super) async fn recovered(&mut self, what: &str) -> bool {
        (self.sentinel, self.cut_at) = (None, None);
        self.outages += 1;
        if self.outages > MAX_OUTAGES {
            let reason = format!("not played: {what} (outage {} of this run)", self.outages);
            self.gone.get_or_insert(reason);
            return false;
        }
        let Some(remote) = self.remote.clone() else { return false };
        let recovered =
            self.unless_stopped(remote.recover(&self.offers, self.probe, self.limit)).await;
        match recovered.unwrap_or_else(|| Err("the run was ended".to_owned())) {
            Ok(()) => {
                self.open_sentinel();
                true
            }
            Err(why) => {
                self.gone.get_or_insert(format!("not played: {what}; {why}"));
                false
            }
        }
    }

    /// Returns whether a fresh host stops without being used, within the time that the scenario took. If the host
    /// stops, no further scenario is played.
    async fn ends_by_itself(&mut self, took: Duration) -> bool {
        let idle = (took + took / 4 + GRACE).min(MAX_IDLE);
        self.unless_stopped(tokio::time::sleep(idle)).await;
        let Some(remote) = self.remote.clone() else { return false };
        let trouble = self
            .unless_stopped(remote.trouble(&self.offers, self.probe, self.limit))
            .await
            .flatten();
        if let Some(what) = &trouble {
            let reason = format!(
                "not played: the host {what} within {idle:.1?} of its start, although no client used it"
            );
            self.gone.get_or_insert(reason);
        }
        // A closed sentinel alone also counts here, but does not end the run: the host may only close idle connections.
        trouble.is_some() || self.is_cut()
    }

    /// Restarts the host if possible, so earlier scenarios have no influence.
    pub(super) async fn fresh(&mut self) {
        let Some(remote) = self.remote.clone().filter(|remote| remote.restarts()) else { return };
        (self.sentinel, self.cut_at) = (None, None);
        let again = self.unless_stopped(remote.again(false)).await;
        match again.unwrap_or_else(|| Err("the run was ended".to_owned())) {
            Ok(()) => self.open_sentinel(),
            Err(why) => drop(self.gone.get_or_insert(format!("not played: {why}"))),
        }
    }
}

/// The result of playing a suspect alone.
pub(super) enum LoneTrial<P> {
    /// The host kept running, or the host also stops when the suspect is not played.
    Outlived(P),
    /// The host stopped twice. The string describes what happened.
    Ended(P, String),
}

/// Plays suspects one at a time.
pub(super) trait LonePlayer {
    /// A scenario or conversation that may have stopped the host.
    type Suspect;
    /// The result of playing a suspect.
    type Played;

    /// Returns the watch of the host.
    fn watch(&mut self) -> &mut HostWatch;

    /// Plays a suspect while nothing else is played. Returns `None` if the suspect cannot be played.
    async fn play_alone(&mut self, suspect: &Self::Suspect) -> Option<Self::Played>;

    /// Returns whether the suspect restarted the host. After a restart, closed connections prove nothing.
    fn restarted(played: &Self::Played) -> bool;

    /// Returns how long the suspect was played.
    fn took(played: &Self::Played) -> Duration;

    /// Records that a suspect was played and that the result is not used, for this reason.
    fn void(&mut self, played: &Self::Played, reason: &str);
}

/// Plays a suspect alone. If the host stops, plays the suspect once more on a fresh host.
async fn trial<L: LonePlayer>(
    player: &mut L,
    suspect: &L::Suspect,
) -> Option<LoneTrial<L::Played>> {
    let (played, outage) = alone(player, suspect).await?;
    let Some(what) = outage else { return Some(LoneTrial::Outlived(played)) };
    player.void(&played, &what);
    player.watch().recovered(&what).await;
    let (played, outage) = alone(player, suspect).await?;
    let Some(what) = outage else { return Some(LoneTrial::Outlived(played)) };
    let took = L::took(&played);
    let watch = player.watch();
    if !watch.recovered(&what).await || watch.ends_by_itself(took).await {
        return Some(LoneTrial::Outlived(played));
    }
    Some(LoneTrial::Ended(played, what))
}

/// Plays a suspect while nothing else is played. Also returns the outage of the host, if there was one.
pub(super) async fn alone<L: LonePlayer>(
    player: &mut L,
    suspect: &L::Suspect,
) -> Option<(L::Played, Option<String>)> {
    player.watch().ready().await;
    let played = player.play_alone(suspect).await?;
    // The host may need a moment to stop.
    tokio::time::sleep(GRACE).await;
    let outage = player.watch().trouble(!L::restarted(&played)).await;
    Some((played, outage))
}

/// The result of playing suspects one at a time.
pub(super) struct TrialResults<P> {
    /// The results of the suspects after which the host was still running.
    pub(super) held: Vec<P>,
    /// The results of the suspects that stop the host, each with a description of the outage.
    pub(super) ended: Vec<(P, String)>,
}

/// Plays the suspects that were in progress when the host stopped, one at a time. If none of these stops the host,
/// plays the suspects that had ended shortly before, the latest first.
pub(super) async fn trials<L: LonePlayer>(
    player: &mut L,
    struck: &[L::Suspect],
    recent: &[L::Suspect],
) -> TrialResults<L::Played> {
    let mut trials = TrialResults { held: Vec::new(), ended: Vec::new() };
    for suspect in struck {
        match trial(player, suspect).await {
            Some(LoneTrial::Outlived(played)) => trials.held.push(played),
            Some(LoneTrial::Ended(played, what)) => trials.ended.push((played, what)),
            None => {}
        }
    }
    for suspect in recent.iter().rev() {
        if !trials.ended.is_empty() || player.watch().gone().is_some() {
            break;
        }
        match trial(player, suspect).await {
            Some(LoneTrial::Ended(played, what)) => trials.ended.push((played, what)),
            Some(LoneTrial::Outlived(played)) => player.void(&played, "it had a result before"),
            None => {}
        }
    }
    trials
}
