//! The checks of `build()` (ENG-16): each node when it is declared, references when all nodes are known.

use std::collections::{HashMap, HashSet};

use crate::chart::stage::Label;
use crate::chart::{
    BranchNode, BuildError, BuildErrors, Chart, Contract, Edge, MountNode, Node, NodeIdx, NodeKind, Position,
    Retry,
};
use crate::ids::{IdKind, IdProblem, ROOT_STAGE, check_id};
use crate::state::{KeyProblem, check_key, check_segment};
use crate::value::Str;

/// Collects problems while a chart is lowered.
#[derive(Default)]
pub(crate) struct Checker {
    errors: Vec<BuildError>,
    ids: HashMap<Str, Position>,
    /// Main chain in order. Generated fork nodes are on it but are no loop targets.
    chain: Vec<ChainEntry>,
    chain_position: HashMap<Str, usize>,
    loops: Vec<LoopRequest>,
    converge: Vec<(Str, Position, Str)>,
    /// Set for continuations: the stage that returned them.
    dynamic: Option<Str>,
}

struct ChainEntry {
    id: Str,
    idx: NodeIdx,
    generated: bool,
}

struct LoopRequest {
    source: NodeIdx,
    source_id: Str,
    source_position: Position,
    target: Str,
    /// Number of main-chain nodes declared when the loop was written.
    declared: usize,
}

impl Checker {
    /// A checker for a continuation returned inside `chart`: its ids are taken.
    pub(crate) fn for_continuation(chart: &Chart, source: Str) -> Checker {
        let ids = chart.nodes().map(|(_, node)| (node.id.clone(), Position::Existing)).collect();
        Checker { ids, dynamic: Some(source), ..Checker::default() }
    }

    /// Checks one node's own declaration.
    pub(crate) fn node(&mut self, idx: NodeIdx, label: &Label, kind: &NodeKind, position: Position) {
        let position = match &self.dynamic {
            Some(source) => Position::Dynamic(source.clone()),
            None => position,
        };
        self.id(idx, &label.id, id_kind(kind, &position), &position);
        self.tags(label);
        self.unique(&label.id, position);
    }

    fn id(&mut self, idx: NodeIdx, id: &Str, kind: IdKind, position: &Position) {
        // A generated id repeats the problem of the node it is generated from.
        if matches!(position, Position::GeneratedFork(_)) {
            return;
        }
        match check_id(id, kind) {
            Ok(()) if **id == *ROOT_STAGE => self.errors.push(BuildError::ReservedGeneratedId {
                id: id.clone(),
                owner: Str::from("the run boundary"),
                position: position.clone(),
            }),
            Ok(()) if names_a_namespace(position) && check_segment(id) == Err(KeyProblem::Reserved) => {
                self.errors.push(BuildError::ReservedGeneratedId {
                    id: id.clone(),
                    owner: Str::from("the keys that readers of a recording drop"),
                    position: position.clone(),
                });
            }
            Ok(()) => {}
            Err(IdProblem::Empty) => {
                self.errors
                    .push(BuildError::EmptyId { position: position.clone(), ordinal: idx.position() + 1 });
            }
            Err(IdProblem::Reserved { character, .. }) => {
                let position = position.clone();
                self.errors.push(BuildError::ReservedCharacter { id: id.clone(), character, position });
            }
        }
    }

    fn unique(&mut self, id: &Str, position: Position) {
        // Empty ids have been reported; reporting them as equal to one another says nothing new.
        if id.trim().is_empty() {
            return;
        }
        let Some(first) = self.ids.get(id) else {
            self.ids.insert(id.clone(), position);
            return;
        };
        let error = match (first, &position) {
            (Position::GeneratedFork(owner), authored) | (authored, Position::GeneratedFork(owner)) => {
                BuildError::ReservedGeneratedId {
                    id: id.clone(),
                    owner: Str::from(format!("the fork node generated after `{owner}`")),
                    position: authored.clone(),
                }
            }
            // Two branches of one owner: `branch_ids` reports them as such.
            (first, second) if first == second && is_child(second) => return,
            (first, second) => {
                BuildError::DuplicateId { id: id.clone(), first: first.clone(), second: second.clone() }
            }
        };
        self.errors.push(error);
    }

    fn tags(&mut self, label: &Label) {
        let mut seen = HashSet::new();
        for tag in &label.tags {
            let (node, tag) = (label.id.clone(), tag.clone());
            if tag.trim().is_empty() || tag.contains('~') {
                self.errors.push(BuildError::InvalidTag { node, tag });
            } else if !seen.insert(tag.clone()) {
                self.errors.push(BuildError::DuplicateTag { node, tag });
            }
        }
    }

    pub(crate) fn retry(&mut self, node: &Str, retry: &Retry) {
        if retry.max_attempts() == 0 {
            self.errors.push(BuildError::InvalidRetry { node: node.clone(), attempts: 0 });
        }
    }

    /// Checks the branch ids of one owner as a set; uniqueness in the chart is checked per node.
    pub(crate) fn branch_ids<'a>(
        &mut self,
        owner: &Str,
        kind: &'static str,
        ids: impl Iterator<Item = &'a str>,
    ) {
        let mut seen = HashSet::new();
        let mut count = 0_usize;
        for id in ids {
            count += 1;
            if !seen.insert(id) && !id.trim().is_empty() {
                let owner = owner.clone();
                self.errors.push(BuildError::DuplicateBranch { owner, kind, id: Str::from(id) });
            }
        }
        if count == 0 {
            self.errors.push(BuildError::NoBranches { owner: owner.clone(), kind });
        }
    }

    /// Resolves a decider's fallback: the declared default, else the branch named `default`.
    pub(crate) fn default_branch(
        &mut self,
        decider: &Str,
        branches: &[BranchNode],
        declared: Option<&str>,
    ) -> Option<usize> {
        let wanted = declared.unwrap_or("default");
        let found = branches.iter().position(|branch| *branch.id == *wanted);
        if found.is_none() && declared.is_some() {
            self.errors.push(BuildError::UnknownDefault {
                decider: decider.clone(),
                default: Str::from(wanted),
                branches: branches.iter().map(|branch| branch.id.clone()).collect(),
            });
        }
        found
    }

    /// Checks the required parts of a for-each and answers them, with stand-ins for what is missing.
    pub(crate) fn for_each(
        &mut self,
        node: &Str,
        max_branches: Option<usize>,
        into: Option<Str>,
    ) -> (usize, Str) {
        match max_branches {
            Some(0) => self.invalid_for_each(node, "`max_branches` is 0: allow at least one branch"),
            None => self.invalid_for_each(
                node,
                "`max_branches` is missing: state the most branches one visit may run",
            ),
            Some(_) => {}
        }
        match into.as_deref() {
            None => self.invalid_for_each(
                node,
                "`into` is missing: name the root state key that receives the results",
            ),
            Some(key) => {
                if let Err(problem) = check_key(key) {
                    let shown = key.escape_debug();
                    self.invalid_for_each(
                        node,
                        &format!("`into` names the key `{shown}`: {problem}, use another one"),
                    );
                }
            }
        }
        (max_branches.unwrap_or_default(), into.unwrap_or_else(|| Str::from("")))
    }

    fn invalid_for_each(&mut self, node: &Str, what: &str) {
        self.errors.push(BuildError::InvalidForEach { node: node.clone(), what: Str::from(what) });
    }

    pub(crate) fn contract(&mut self, contract: &Contract) {
        self.errors.extend(contract.problems());
    }

    pub(crate) fn on_chain(&mut self, idx: NodeIdx, id: &Str, generated: bool) {
        self.chain_position.entry(id.clone()).or_insert(self.chain.len());
        self.chain.push(ChainEntry { id: id.clone(), idx, generated });
    }

    pub(crate) fn conflict(&mut self, node: &Str, existing: String, refused: String) {
        let (node, existing, refused) = (node.clone(), Str::from(existing), Str::from(refused));
        self.errors.push(BuildError::ContinuationConflict { node, existing, refused });
    }

    pub(crate) fn converges(&mut self, branch: &Str, position: &Position, target: Str) {
        self.converge.push((branch.clone(), position.clone(), target));
    }

    pub(crate) fn chain_loop(&mut self, source: NodeIdx, source_id: &Str, target: Str) {
        let source_position = self.ids.get(source_id).cloned().unwrap_or(Position::Stage);
        self.request_loop(source, source_id, source_position, target);
    }

    /// A branch may loop once; further loops are a second continuation.
    pub(crate) fn branch_loops(
        &mut self,
        source: NodeIdx,
        source_id: &Str,
        position: &Position,
        targets: Vec<Str>,
    ) {
        let mut targets = targets.into_iter();
        let Some(first) = targets.next() else { return };
        for refused in targets {
            self.conflict(source_id, format!("a loop to `{first}`"), format!("a loop to `{refused}`"));
        }
        self.request_loop(source, source_id, position.clone(), first);
    }

    fn request_loop(&mut self, source: NodeIdx, source_id: &Str, source_position: Position, target: Str) {
        let declared = self.chain.len();
        self.loops.push(LoopRequest {
            source,
            source_id: source_id.clone(),
            source_position,
            target,
            declared,
        });
    }

    /// Resolves references. Problems of single nodes come first, in declaration order, then those of references.
    pub(crate) fn finish(mut self, nodes: &mut [Node]) -> Result<(), BuildErrors> {
        for request in std::mem::take(&mut self.loops) {
            match self.loop_target(&request) {
                Ok(target) => {
                    if let Some(node) = nodes.get_mut(request.source.position()) {
                        node.next = Some(Edge::Loop(target));
                    }
                }
                Err(error) => self.errors.push(error),
            }
        }
        for (branch, position, target) in std::mem::take(&mut self.converge) {
            if !self.ids.contains_key(&target) {
                self.errors.push(BuildError::UnknownConvergeTarget { branch, position, target });
            }
        }
        if self.errors.is_empty() { Ok(()) } else { Err(BuildErrors(self.errors)) }
    }

    fn loop_target(&self, request: &LoopRequest) -> Result<NodeIdx, BuildError> {
        let LoopRequest { source_id, source_position, target, declared, .. } = request;
        let on_chain = self.chain_position.get(target).and_then(|at| Some((at, self.chain.get(*at)?)));
        let reason = match on_chain {
            _ if **target == *"default" => "and `default` only names a decider's fallback",
            Some((_, entry)) if entry.generated => "a generated fork node",
            Some((at, entry)) if at < declared => return Ok(entry.idx),
            Some(_) => "which is declared after the loop",
            None if self.ids.contains_key(target) => {
                "which is a branch or a fork child and not on the main chain"
            }
            None => "",
        };
        let (source_id, source_position, target) =
            (source_id.clone(), source_position.clone(), target.clone());
        let legal: Vec<Str> = self
            .chain
            .iter()
            .take(*declared)
            .filter(|entry| !entry.generated && *entry.id != *"default")
            .map(|entry| entry.id.clone())
            .collect();
        Err(if reason.is_empty() {
            BuildError::UnknownLoopTarget { source_id, source_position, target, legal }
        } else {
            BuildError::IllegalLoopTarget {
                source_id,
                source_position,
                target,
                reason: Str::from(reason),
                legal,
            }
        })
    }
}

fn id_kind(kind: &NodeKind, position: &Position) -> IdKind {
    match (kind, position) {
        (NodeKind::Mount(MountNode { .. }), _) => IdKind::Mount,
        (NodeKind::ForEach(_), _) => IdKind::ForEach,
        (_, Position::ForkChild(_)) => IdKind::Child,
        (_, Position::DeciderBranch(_) | Position::SelectorBranch(_)) => IdKind::Branch,
        _ => IdKind::Stage,
    }
}

/// Whether state is kept under this id (ENG-81). Of a continuation only that much is known: it may be.
fn names_a_namespace(position: &Position) -> bool {
    matches!(position, Position::ForkChild(_) | Position::SelectorBranch(_) | Position::Dynamic(_))
}

fn is_child(position: &Position) -> bool {
    matches!(position, Position::ForkChild(_) | Position::DeciderBranch(_) | Position::SelectorBranch(_))
}

/// The refusal of a `Next::Goto` (ENG-43).
pub(crate) fn bad_goto(chart: &Chart, source: &Node, target: &str, known: bool) -> BuildError {
    let legal =
        chart.nodes().filter(|(_, node)| node.parent.is_none()).map(|(_, node)| node.id.clone()).collect();
    let (source_id, source_position) = (source.id.clone(), Position::Dynamic(source.id.clone()));
    let target = Str::from(target);
    if known {
        let reason = Str::from("which is a branch or a fork child and not on the main chain");
        BuildError::IllegalLoopTarget { source_id, source_position, target, reason, legal }
    } else {
        BuildError::UnknownLoopTarget { source_id, source_position, target, legal }
    }
}
