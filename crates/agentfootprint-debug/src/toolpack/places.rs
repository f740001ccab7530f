//! Where steps stand: the run's own log and those of its mounts, and how an id is resolved (REC-92).

use std::sync::Arc;

use footprint::ids::{CommitIdx, RuntimeStageId};
use footprint::query::{LogView, TraceQuery};
use footprint::value::Str;
use indexmap::{IndexMap, IndexSet};

/// One log with its tree.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The mount's address; none for the run itself.
    pub(super) mount: Option<Str>,
    view: Holder,
}

#[derive(Clone, Debug)]
enum Holder {
    Root(TraceQuery),
    Inner(Arc<LogView>),
}

impl Place {
    pub(super) fn view(&self) -> &LogView {
        match &self.view {
            Holder::Root(query) => query.root(),
            Holder::Inner(view) => view,
        }
    }

    /// ` inside sf-tools#11`, or nothing for the run itself.
    pub(super) fn says(&self) -> String {
        self.mount.as_ref().map(|mount| format!(" inside {mount}")).unwrap_or_default()
    }

    /// First and last commit of a step; a step that committed nothing stands where the step before it ended.
    pub(super) fn commits(&self, step: &RuntimeStageId) -> Standing {
        let mut at = Some(step.clone());
        let mut first = true;
        while let Some(step) = at {
            let Ok(facts) = self.view().step(&step) else { break };
            if let (Some(from), Some(to)) = (facts.commits.first(), facts.commits.last()) {
                return if first { Standing::Own(*from, *to) } else { Standing::After(*to) };
            }
            first = false;
            at = facts.parent;
        }
        Standing::Before
    }
}

/// Where a step stands on the commit axis of its log.
#[derive(Clone, Copy, Debug)]
pub(super) enum Standing {
    /// It committed.
    Own(CommitIdx, CommitIdx),
    /// It committed nothing; the last commit before it is this one.
    After(CommitIdx),
    /// Nothing was committed before it.
    Before,
}

impl Standing {
    /// The last commit whose effect the step's end shows.
    pub(super) fn end(self) -> Option<CommitIdx> {
        match self {
            Self::Own(_, last) | Self::After(last) => Some(last),
            Self::Before => None,
        }
    }

    /// The first commit that is not before the step.
    pub(super) fn start(self) -> CommitIdx {
        match self {
            Self::Own(first, _) => first,
            Self::After(last) => CommitIdx(last.0 + 1),
            Self::Before => CommitIdx(0),
        }
    }
}

/// All steps of the recording and where they stand.
#[derive(Debug)]
pub(super) struct Places {
    /// The run's own log first, then one per mount execution.
    places: Vec<Place>,
    root: Place,
    ids: IndexMap<String, usize>,
    root_keys: Vec<String>,
}

impl Places {
    pub(super) fn of(query: &TraceQuery) -> Self {
        let root = Place { mount: None, view: Holder::Root(query.clone()) };
        let mut places = vec![root.clone()];
        for execution in query.subflow_executions() {
            if let Ok(inner) = query.subflow(execution) {
                places.push(Place { mount: Some(execution.clone()), view: Holder::Inner(inner.view) });
            }
        }
        let mut ids = IndexMap::new();
        for (at, place) in places.iter().enumerate() {
            let view = place.view();
            let frames = view.tree().iter().map(|(_, frame)| frame.runtime_stage_id.to_string());
            let commits = view.steps().map(|(id, _)| id.to_string());
            for id in frames.chain(commits).filter(|id| !id.is_empty()) {
                ids.entry(id).or_insert(at);
            }
        }
        let root_keys = keys_of(root.view());
        Self { places, root, ids, root_keys }
    }

    /// All ids, the run's own first.
    pub(super) fn ids(&self) -> Vec<&String> {
        self.ids.keys().collect()
    }

    pub(super) fn root_keys(&self) -> &[String] {
        &self.root_keys
    }

    /// The run's own log.
    pub(super) fn root(&self) -> &Place {
        &self.root
    }

    pub(super) fn all(&self) -> &[Place] {
        &self.places
    }

    pub(super) fn contains(&self, id: &str) -> bool {
        self.ids.contains_key(id)
    }

    /// The ladder: the run's own steps, then those of its mounts, then the mount with the longest matching path that had begun
    /// by then, whose log names its steps without the path.
    pub(super) fn find(&self, id: &str) -> Option<(&Place, RuntimeStageId)> {
        let step = RuntimeStageId::parse(id);
        if let Some(place) = self.ids.get(id).and_then(|at| self.places.get(*at)) {
            return Some((place, step));
        }
        let path = step.subflow_path()?;
        let local = RuntimeStageId::new(step.local_id(), step.index());
        let mut mounts: Vec<(usize, u64, &Place)> = self
            .places
            .iter()
            .filter_map(|place| {
                let mount = RuntimeStageId::parse(place.mount.as_ref()?);
                let fits = path == mount.stage_id() || path.starts_with(&format!("{}/", mount.stage_id()));
                (fits && mount.index() <= step.index())
                    .then(|| (mount.stage_id().len(), mount.index().0, place))
            })
            .collect();
        mounts.sort_by_key(|(length, index, _)| std::cmp::Reverse((*length, *index)));
        mounts
            .into_iter()
            .map(|(.., place)| place)
            .find(|place| place.view().has_step(&local))
            .map(|place| (place, local))
    }

    /// The place of a mount's inner log.
    pub(super) fn inside(&self, mount: &str) -> Option<&Place> {
        self.places.iter().find(|place| place.mount.as_deref() == Some(mount))
    }

    /// The place whose log writes a key: the run's own first.
    pub(super) fn with_key(&self, root: &str) -> Option<&Place> {
        self.places.iter().find(|place| {
            place
                .view()
                .log()
                .iter()
                .any(|bundle| bundle.rows.iter().any(|row| row.path.root_key() == Some(root)))
        })
    }
}

/// Root keys of a log: written ones in order of first write, then those of the initial state.
pub(super) fn keys_of(view: &LogView) -> Vec<String> {
    let mut keys: IndexSet<String> = IndexSet::new();
    for row in view.log().iter().flat_map(|bundle| bundle.rows.iter()) {
        if let Some(key) = row.path.root_key().filter(|key| !keys.contains(*key)) {
            keys.insert(key.to_owned());
        }
    }
    keys.extend(view.initial_state().into_iter().flat_map(|state| state.keys()).map(ToString::to_string));
    keys.into_iter().collect()
}
