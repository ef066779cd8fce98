//! Routes: paths that an app answers by the same code, as far as paths show it.
//!
//! In: a site and a path. Out: the number of a route, such as that of `/thread/{id}`. Routes
//! are learned from what was asked for: numbers, dates, identifiers and slugs are values by
//! their looks ([`segment`]); where more than [`WORDS_MAX`] different words follow one
//! beginning they are values too, but for those that many requests ask for.
//! Bounds: [`ROUTES_MAX`] routes of all sites together, [`SEGMENTS_MAX`] segments a route.
//! When all are given away the least asked for are put with the others, so that a flood of
//! invented paths can't keep out what people ask for.
//! Invariant: the same requests in the same order make the same routes.
//! Start at [`Routes::find`].

mod segment;

use std::collections::BTreeMap;

use segment::ANY;

/// How many routes are told apart; what is left is [`OTHER`].
pub const ROUTES_MAX: usize = 1000;
/// The number of all that have no route of their own.
pub const OTHER: u16 = 0;
/// Different words behind one beginning.
const WORDS_MAX: usize = 32;
/// Segments of a route; what follows is one more, whatever it is.
const SEGMENTS_MAX: usize = 8;
const REST: &str = "{rest}";
/// A word stays one among values if it had so many requests, and this share of all of them.
const KEPT_REQUESTS_MIN: u64 = 64;
const KEPT_SHARE: u64 = 8;
/// When all routes are given away, one in so many is taken back.
const TAKEN_BACK: usize = 4;

/// How much a route was asked for, by its number.
pub(crate) type Weigh<'a> = &'a dyn Fn(u16) -> u64;

/// Counts that belong to another route from now on: from the first to the second, in order.
pub(crate) type Moves = Vec<(u16, u16)>;

/// A route's name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteName {
    /// The site's name; empty: of no site.
    pub site: String,
    /// The route, as in `/thread/{id}`; empty: all that have none of their own.
    pub route: String,
}

/// All routes of all sites.
pub(crate) struct Routes {
    sites: BTreeMap<Box<str>, Node>,
    names: Vec<Option<RouteName>>,
    moves: Moves,
}

/// A beginning that paths have in common.
#[derive(Default)]
struct Node {
    children: BTreeMap<Box<str>, Node>,
    /// The route that ends here.
    route: Option<u16>,
    /// Whether words that aren't among the children are values.
    is_closed: bool,
}

impl Default for Routes {
    fn default() -> Self {
        let mut names = vec![None; ROUTES_MAX + 1];
        names[usize::from(OTHER)] = Some(RouteName::default());
        Self { sites: BTreeMap::new(), names, moves: Moves::new() }
    }
}

impl Routes {
    /// The number of a path's route. One that isn't known is learned, if it `teaches`: what
    /// isn't there, or is refused, does not. What has to move because of that is in
    /// [`Routes::take_moves`].
    pub(crate) fn find(&mut self, site: &str, path: &str, teaches: bool, weigh: Weigh<'_>) -> u16 {
        if !teaches && !self.sites.contains_key(site) {
            return OTHER;
        }
        let moved = self.moves.len();
        let node = self.sites.entry(site.into()).or_default();
        let Some(route) = node.walk(path, teaches, weigh, &mut self.moves) else { return OTHER };
        let has_changed = self.moves.len() > moved;
        let number = match route {
            Some(number) => number,
            None => self.give(site, path, weigh),
        };
        if has_changed {
            self.name_anew();
        }
        number
    }

    /// What moved since this was last asked.
    pub(crate) fn take_moves(&mut self) -> Moves {
        std::mem::take(&mut self.moves)
    }

    /// What a number stands for now; none: for nothing.
    pub(crate) fn name(&self, number: u16) -> Option<&RouteName> {
        self.names.get(usize::from(number))?.as_ref()
    }

    /// Gives a path's route a number of its own; the way to it is there already.
    fn give(&mut self, site: &str, path: &str, weigh: Weigh<'_>) -> u16 {
        // Also those that moved away a moment ago: their counts have to be gone first.
        let is_free = |(number, name): &(usize, &Option<RouteName>)| {
            name.is_none() && !self.moves.iter().any(|(from, _)| usize::from(*from) == *number)
        };
        let free = self.names.iter().enumerate().find(is_free).map(|(number, _)| number as u16);
        let Some(number) = free else {
            self.take_back(weigh);
            return OTHER;
        };
        let Some(node) = self.sites.get_mut(site) else { return OTHER };
        let (node, route) = node.end_of(path);
        node.route = Some(number);
        self.names[usize::from(number)] = Some(RouteName { site: site.to_owned(), route });
        number
    }

    /// Puts the least asked for with the others.
    fn take_back(&mut self, weigh: Weigh<'_>) {
        let mut all: Vec<_> =
            (1..=ROUTES_MAX as u16).map(|number| (weigh(number), number)).collect();
        all.sort_unstable();
        for (_, number) in all.into_iter().take(ROUTES_MAX / TAKEN_BACK) {
            self.moves.push((number, OTHER));
        }
        let gone: Vec<u16> = self.moves.iter().map(|(from, _)| *from).collect();
        self.sites.values_mut().for_each(|node| node.prune(&gone));
        self.name_anew();
    }

    fn name_anew(&mut self) {
        self.names[1..].fill(None);
        for (site, node) in &self.sites {
            node.name(site, &mut String::new(), &mut self.names);
        }
    }
}

/// The names of a path's segments.
fn segments(path: &str) -> impl Iterator<Item = String> {
    let mut before = String::new();
    let all = path.split('/').filter(|segment| !segment.is_empty()).enumerate();
    all.take(SEGMENTS_MAX + 1).map(move |(at, each)| {
        before = match at {
            SEGMENTS_MAX => REST.to_owned(),
            _ => segment::read(each, &before).into_owned(),
        };
        before.clone()
    })
}

fn is_word(name: &str) -> bool {
    !name.starts_with('{')
}

impl Node {
    /// The end of a path's way, made where that is allowed: the route there, if it has one.
    /// Nothing if the way isn't there and isn't to be made.
    fn walk(
        &mut self,
        path: &str,
        teaches: bool,
        weigh: Weigh<'_>,
        moves: &mut Moves,
    ) -> Option<Option<u16>> {
        let mut node = self;
        for name in segments(path) {
            if teaches && !node.is_closed && is_word(&name) && !node.children.contains_key(&*name) {
                let words = node.children.keys().filter(|name| is_word(name)).count();
                if words >= WORDS_MAX {
                    node.close(weigh, moves);
                }
            }
            let name = if node.takes(&name) { name } else { ANY.to_owned() };
            node = match teaches {
                true => node.children.entry(name.into()).or_default(),
                false => node.children.get_mut(&*name)?,
            };
        }
        if node.route.is_none() && !teaches {
            return None;
        }
        Some(node.route)
    }

    /// The end of a way that is there, with the route's name.
    fn end_of(&mut self, path: &str) -> (&mut Self, String) {
        let (mut node, mut route) = (self, String::new());
        for name in segments(path) {
            let name = if node.takes(&name) { name } else { ANY.to_owned() };
            route.push('/');
            route.push_str(&name);
            node = node.children.entry(name.into()).or_default();
        }
        if route.is_empty() {
            route.push('/');
        }
        (node, route)
    }

    /// Whether a name stays itself here.
    fn takes(&self, name: &str) -> bool {
        !self.is_closed || !is_word(name) || self.children.contains_key(name)
    }

    /// There are too many words: from now on they are values, but for the few that most
    /// requests ask for.
    fn close(&mut self, weigh: Weigh<'_>, moves: &mut Moves) {
        self.is_closed = true;
        let mut all = std::mem::take(&mut self.children);
        let total: u64 = all.values().map(|child| child.weight(weigh)).sum();
        let mut values = all.remove(ANY).unwrap_or_default();
        for (name, child) in all {
            let weight = child.weight(weigh);
            let is_wanted = weight >= KEPT_REQUESTS_MIN && weight * KEPT_SHARE >= total;
            match !is_word(&name) || is_wanted {
                true => drop(self.children.insert(name, child)),
                false => values.absorb(child, weigh, moves),
            }
        }
        self.children.insert(ANY.into(), values);
    }

    /// Takes in all that is under another beginning.
    fn absorb(&mut self, other: Self, weigh: Weigh<'_>, moves: &mut Moves) {
        match (self.route, other.route) {
            (Some(own), Some(others)) => moves.push((others, own)),
            (None, route) => self.route = route,
            (Some(_), None) => {}
        }
        for (name, child) in other.children {
            let name = if self.takes(&name) { name } else { ANY.into() };
            self.children.entry(name).or_default().absorb(child, weigh, moves);
        }
        let words = self.children.keys().filter(|name| is_word(name)).count();
        if (words > WORDS_MAX || other.is_closed) && !self.is_closed {
            self.close(weigh, moves);
        }
    }

    fn weight(&self, weigh: Weigh<'_>) -> u64 {
        let below: u64 = self.children.values().map(|child| child.weight(weigh)).sum();
        below + self.route.map_or(0, weigh)
    }

    /// Forgets these routes, and ways that lead to none.
    fn prune(&mut self, gone: &[u16]) {
        self.route = self.route.filter(|route| !gone.contains(route));
        self.children.retain(|_, child| {
            child.prune(gone);
            child.route.is_some() || !child.children.is_empty()
        });
    }

    fn name(&self, site: &str, way: &mut String, names: &mut [Option<RouteName>]) {
        if let Some(number) = self.route {
            let route = if way.is_empty() { "/".to_owned() } else { way.clone() };
            names[usize::from(number)] = Some(RouteName { site: site.to_owned(), route });
        }
        for (name, child) in &self.children {
            let length = way.len();
            way.push('/');
            way.push_str(name);
            child.name(site, way, names);
            way.truncate(length);
        }
    }
}

#[cfg(test)]
mod tests;
