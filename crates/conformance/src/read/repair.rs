//! Repair: formatting elements that are closed in another order than they were opened.
//!
//! Law: HTML §13.2.4.3 (the list of active formatting elements) and §13.2.6.4.7 (the
//! adoption agency algorithm).

use std::borrow::Cow;

use super::build::{Builder, FORMATTING_MAX, Formatting};
use super::name::Name;
use super::tree::{Element, Kind, NodeId, Space};

impl Builder<'_, '_> {
    /// Pushes onto the list, where three that are alike are enough.
    pub(crate) fn remember(&mut self, id: NodeId) {
        let same: Vec<_> = self
            .formatting
            .iter()
            .enumerate()
            .rev()
            .take_while(|(_, entry)| **entry != Formatting::Marker)
            .filter_map(|(index, entry)| match entry {
                Formatting::Element { origin, .. } if self.are_alike(*origin, id) => Some(index),
                _ => None,
            })
            .collect();
        if same.len() >= 3
            && let Some(&earliest) = same.last()
        {
            self.formatting.remove(earliest);
        }
        if self.formatting.len() >= FORMATTING_MAX
            && let Some(index) =
                self.formatting.iter().position(|entry| *entry != Formatting::Marker)
        {
            self.formatting.remove(index);
        }
        self.formatting.push(Formatting::Element { node: id, origin: id });
    }

    fn are_alike(&self, one: NodeId, other: NodeId) -> bool {
        let (Some(one), Some(other)) = (self.tree.element(one), self.tree.element(other)) else {
            return false;
        };
        one.name == other.name
            && one.attributes.len() == other.attributes.len()
            && one
                .attributes
                .iter()
                .all(|attribute| other.value(&attribute.name) == Some(&*attribute.value))
    }

    pub(crate) fn clear_to_marker(&mut self) {
        while let Some(entry) = self.formatting.pop() {
            if entry == Formatting::Marker {
                return;
            }
        }
    }

    /// The last element of this name in the list, behind the last marker.
    pub(crate) fn formatted_since_marker(&self, name: Name) -> Option<NodeId> {
        self.formatting.iter().rev().take_while(|entry| **entry != Formatting::Marker).find_map(
            |entry| match entry {
                Formatting::Element { node, .. } if self.tree.html_name(*node) == name => {
                    Some(*node)
                }
                _ => None,
            },
        )
    }

    /// A copy of an element, without its attributes.
    fn copy(&mut self, id: NodeId) -> NodeId {
        let at = self.tree.node(id).at as usize;
        let element = match self.tree.element(id) {
            Some(element) => Element {
                name: element.name,
                space: element.space,
                label: element.label.clone(),
                attributes: Vec::new(),
                is_implied: true,
            },
            None => Element {
                name: Name::Other,
                space: Space::Html,
                label: Cow::Borrowed(""),
                attributes: Vec::new(),
                is_implied: true,
            },
        };
        self.tree.add(Kind::Element(element), at)
    }

    /// Opens again what was closed by its parent's end.
    pub(crate) fn reconstruct(&mut self) {
        let is_settled = |builder: &Self, entry: Formatting| match entry {
            Formatting::Marker => true,
            Formatting::Element { node, .. } => builder.open.contains(&node),
        };
        let Some(&last) = self.formatting.last() else { return };
        if is_settled(self, last) {
            return;
        }
        let mut from = self.formatting.len() - 1;
        while from > 0 && !is_settled(self, self.formatting[from - 1]) {
            from -= 1;
        }
        for index in from..self.formatting.len() {
            let Formatting::Element { node, origin } = self.formatting[index] else { continue };
            let copy = self.copy(node);
            self.put(self.place(self.current()), copy);
            let at = self.tokenizer.at;
            self.push(copy, at);
            self.formatting[index] = Formatting::Element { node: copy, origin };
        }
    }

    /// The adoption agency algorithm. Whether the tag is for "any other end tag" instead.
    pub(crate) fn adopt(&mut self, name: Name, at: usize) -> bool {
        let current = self.current();
        if self.current_name() == name
            && !self.formatting.iter().any(|entry| entry.is_node(current))
        {
            self.pop();
            return false;
        }
        for _ in 0..8 {
            let Some(formatting) = self.formatted_since_marker(name) else { return true };
            let Some(depth) = self.open.iter().rposition(|&id| id == formatting) else {
                self.misnested(name, at);
                self.formatting.retain(|entry| !entry.is_node(formatting));
                return false;
            };
            if !self.in_scope(name) {
                self.misnested(name, at);
                return false;
            }
            if formatting != self.current() {
                self.misnested(name, at);
            }
            let furthest =
                (depth + 1..self.open.len()).find(|&index| self.is_special(self.open[index]));
            let Some(furthest) = furthest else {
                self.open.truncate(depth);
                self.formatting.retain(|entry| !entry.is_node(formatting));
                return false;
            };
            self.move_block(depth, furthest);
        }
        false
    }

    fn misnested(&mut self, name: Name, at: usize) {
        let label = self
            .formatted_since_marker(name)
            .and_then(|id| self.tree.element(id))
            .map_or(String::new(), |element| element.label.to_string());
        let message = format!("End tag “{label}” violates nesting rules.");
        self.error(at, "misnested-end-tag", message);
    }

    /// Steps 8 to 20: what stands between the formatting element and the furthest block.
    fn move_block(&mut self, depth: usize, furthest: usize) {
        let (formatting, block, ancestor) =
            (self.open[depth], self.open[furthest], self.open[depth.saturating_sub(1)]);
        let mut bookmark =
            self.formatting.iter().position(|entry| entry.is_node(formatting)).unwrap_or(0);
        let (mut index, mut last, mut inner) = (furthest, block, 0);
        loop {
            index -= 1;
            if index == depth {
                break;
            }
            inner += 1;
            let node = self.open[index];
            let mut entry = self.formatting.iter().position(|entry| entry.is_node(node));
            if inner > 3
                && let Some(position) = entry.take()
            {
                self.formatting.remove(position);
                if position < bookmark {
                    bookmark -= 1;
                }
            }
            let Some(position) = entry else {
                self.open.remove(index);
                continue;
            };
            let copy = self.copy(node);
            if let Formatting::Element { node, .. } = &mut self.formatting[position] {
                *node = copy;
            }
            self.open[index] = copy;
            if last == block {
                bookmark = position + 1;
            }
            self.tree.detach(last);
            self.tree.append(copy, last);
            last = copy;
        }
        self.tree.detach(last);
        let fosters = std::mem::replace(&mut self.fosters, true);
        let place = self.place(ancestor);
        self.fosters = fosters;
        self.put(place, last);
        self.replace_formatting(formatting, block, bookmark);
    }

    fn replace_formatting(&mut self, formatting: NodeId, block: NodeId, bookmark: usize) {
        let copy = self.copy(formatting);
        self.tree.move_children(block, copy);
        self.tree.append(block, copy);
        let old = self.formatting.iter().position(|entry| entry.is_node(formatting));
        let mut origin = formatting;
        let mut bookmark = bookmark;
        if let Some(position) = old {
            if let Formatting::Element { origin: known, .. } = self.formatting.remove(position) {
                origin = known;
            }
            if position < bookmark {
                bookmark -= 1;
            }
        }
        let bookmark = bookmark.min(self.formatting.len());
        self.formatting.insert(bookmark, Formatting::Element { node: copy, origin });
        self.open.retain(|&id| id != formatting);
        let block_depth =
            self.open.iter().position(|&id| id == block).unwrap_or(self.open.len() - 1);
        self.open.insert(block_depth + 1, copy);
    }
}
