//! One chart's own walk: the top chart, or one entry into one mount. Owns state, log and tree.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use smallvec::SmallVec;

use super::namespace::Namespace;
use super::shared::RunShared;
use super::tree::{Hop, LiveTree, NONE};
use crate::chart::{Chart, NodeIdx, SiteIds};
use crate::ids::{ExecutionIndex, RuntimeStageId};
use crate::snapshot::{CommitLog, LogAddress, SubflowContext, SubflowResult};
use crate::state::{Bundle, apply_row};
use crate::value::{Object, Str, Value};

/// What a level is inside of.
pub(crate) struct MountedIn {
    /// The level the mount is on.
    pub(crate) level: Arc<Level>,
    /// Prefixed id of the mount: the path of this level.
    pub(crate) id: Str,
    /// Execution index of the mount's visit.
    pub(crate) index: u64,
    /// Display name of the mount, unprefixed.
    pub(crate) name: Str,
    /// Name of the mount's frame, prefixed with its namespace in a parallel branch.
    pub(crate) frame_name: Str,
}

/// One level of a run. Its parts that change sit behind one short-held lock.
pub(crate) struct Level {
    pub(crate) chart: Chart,
    pub(crate) ids: Arc<SiteIds>,
    /// Read-only arguments; their keys cannot be written by stages of this level.
    pub(crate) args: Object,
    /// The arguments as a value: also input that is not an object.
    pub(crate) args_value: Option<Value>,
    pub(crate) mounted: Option<MountedIn>,
    /// The chart behind the mount was only known to the run.
    discovered: bool,
    log_run_id: Str,
    log_address: OnceLock<Arc<LogAddress>>,
    commits: AtomicUsize,
    core: Mutex<LevelCore>,
}

pub(crate) struct LevelCore {
    pub(crate) state: Object,
    pub(crate) initial: Object,
    pub(crate) log: CommitLog,
    /// Redacted twin of the state, only under a policy.
    pub(crate) mirror: Option<Object>,
    pub(crate) tree: LiveTree,
    /// Loop edges taken per target.
    pub(crate) loops: SmallVec<[(NodeIdx, u64); 2]>,
}

impl Level {
    pub(crate) fn new(
        chart: Chart,
        ids: Arc<SiteIds>,
        args: Option<Value>,
        mounted: Option<MountedIn>,
        log_run_id: Str,
        initial: Object,
        mirror: Option<Object>,
        discovered: bool,
    ) -> Arc<Self> {
        let args_object = args.as_ref().and_then(|v| v.as_object()).cloned().unwrap_or_default();
        Arc::new(Self {
            chart,
            ids,
            args: args_object,
            args_value: args,
            mounted,
            discovered,
            log_run_id,
            log_address: OnceLock::new(),
            commits: AtomicUsize::new(0),
            core: Mutex::new(LevelCore {
                state: initial.clone(),
                initial,
                log: CommitLog::new(),
                mirror,
                tree: LiveTree::default(),
                loops: SmallVec::new(),
            }),
        })
    }

    /// The lock. Held for a few loads and stores; never while author or observer code runs.
    pub(crate) fn core(&self) -> MutexGuard<'_, LevelCore> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Mount path, `""` at the top.
    pub(crate) fn path(&self) -> &Str {
        &self.ids.path
    }

    /// Bundles in this level's log.
    pub(crate) fn commit_count(&self) -> usize {
        self.commits.load(Ordering::Relaxed)
    }

    /// Adds a bundle that was built for the current length of the log.
    pub(crate) fn push_bundle(&self, core: &mut LevelCore, bundle: Arc<Bundle>) {
        if let Some(mirror) = &mut core.mirror {
            for row in &bundle.rows {
                // Our own rows carry one of the four verbs; there is nothing to refuse.
                apply_row(mirror, row);
            }
        }
        core.log.push(bundle);
        self.commits.store(core.log.len(), Ordering::Relaxed);
    }

    /// Which log this is.
    pub(crate) fn log_address(&self) -> &Arc<LogAddress> {
        self.log_address.get_or_init(|| {
            let mut drill_path = Vec::new();
            let mut at = self.mounted.as_ref();
            while let Some(mounted) = at {
                drill_path.push(mounted.address().to_string().into());
                at = mounted.level.mounted.as_ref();
            }
            drill_path.reverse();
            Arc::new(LogAddress { log_run_id: self.log_run_id.clone(), drill_path })
        })
    }

    /// This level as a subflow result (ENG-141); `redacted` serves the mirror and no fold base.
    pub(crate) fn subflow_result(&self, run: &RunShared, redacted: bool) -> Option<SubflowResult> {
        let mounted = self.mounted.as_ref()?;
        let (state, initial, log, tree) = {
            let core = self.core();
            (
                run.state_of(&core, redacted),
                core.initial.clone(),
                core.log.clone(),
                core.tree.to_tree(&self.chart, &self.ids),
            )
        };
        Some(SubflowResult {
            subflow_id: mounted.id.clone(),
            subflow_name: mounted.name.clone(),
            tree_context: SubflowContext {
                global_context: state,
                stage_contexts: tree,
                history: log,
                initial_state: (!redacted).then_some(initial),
                log_address: Some((**self.log_address()).clone()),
                extra: Object::new(),
            },
            parent_stage_id: mounted.frame_name.clone(),
            pipeline_structure: self.discovered.then(|| self.chart.structure().to_value().ok()).flatten(),
            pipeline_structure_text: None,
            extra: Object::new(),
        })
    }

    /// Counts one more loop edge from frame `no` to `target`, and keeps it as the frame's way on; the new
    /// count, or `None` above the limit.
    pub(crate) fn take_loop(&self, no: u32, target: NodeIdx, limit: u64, at: u64) -> Option<u64> {
        let mut core = self.core();
        let slot = match core.loops.iter().position(|(known, _)| *known == target) {
            Some(at) => core.loops.get_mut(at),
            None => {
                core.loops.push((target, 0));
                core.loops.last_mut()
            }
        };
        let (_, count) = slot?;
        if *count >= limit {
            return None;
        }
        *count += 1;
        let pass = *count;
        if let Some(frame) = core.tree.get_mut(no) {
            frame.hop = Some(Hop { at, to: target, pass });
        }
        Some(pass)
    }

    /// Changes a frame of this level's tree.
    pub(crate) fn with_frame(&self, no: u32, change: impl FnOnce(&mut super::tree::LiveFrame)) {
        if no != NONE
            && let Some(frame) = self.core().tree.get_mut(no)
        {
            change(frame);
        }
    }

    /// A value as stages of a namespace see it.
    pub(crate) fn lookup(&self, ns: Option<&Namespace>, key: &str) -> Option<Value> {
        let core = self.core();
        match ns {
            None => core.state.get(key).cloned(),
            Some(ns) => ns.lookup(&core.state, key).cloned(),
        }
    }
}

impl MountedIn {
    pub(crate) fn address(&self) -> RuntimeStageId {
        RuntimeStageId::new(self.id.clone(), ExecutionIndex(self.index))
    }
}
