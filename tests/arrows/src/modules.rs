//! The modules of a library or program, without its tests, and the modules that each names.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Ident, Item, ItemMod, Lit, Macro, Meta, UseTree, Visibility};

use crate::circles::Node;

/// The maximum number of imports that may lead from one to the next, as names of other crates lead
/// to themselves.
const DEPTH: u32 = 16;

/// A path, name by name.
type Names = Vec<String>;

/// Returns the content of a file, if it exists.
pub type Source<'a> = &'a dyn Fn(&Path) -> Option<String>;

#[derive(Default)]
struct Module {
    file: PathBuf,
    /// The directory of its children's files.
    directory: PathBuf,
    parent: Option<usize>,
    /// The index of the file's module: its own, unless it is inline in another file.
    node: usize,
    children: BTreeMap<String, usize>,
    items: BTreeSet<String>,
    imports: BTreeMap<String, Names>,
    globs: Vec<Names>,
    /// All names used, and whether each is only re-exported.
    named: BTreeMap<Names, bool>,
}

/// The target of a path.
enum Target {
    Module(usize),
    /// An item of this module.
    Item(usize),
}

/// Returns the files of the library or program whose root file is `root`.
pub fn nodes(root: &Path, source: Source<'_>) -> Vec<Node> {
    let mut reader = Reader {
        source,
        modules: Vec::new(),
        at: 0,
    };
    reader.file(root.to_owned(), parent_of(root), None);
    let modules = Modules(reader.modules);
    let node = |module: &Module| Node {
        file: module.file.clone(),
        parent: module.parent.map(|parent| modules.0[parent].node),
        knows: BTreeMap::new(),
    };
    let mut nodes: Vec<_> = modules.0.iter().map(node).collect();
    for (at, module) in modules.0.iter().enumerate() {
        for (names, &passed_on) in &module.named {
            if let Some(Target::Item(target)) = modules.resolve(at, names, DEPTH)
                && modules.0[target].node != module.node
                && !(passed_on && modules.is_below(target, at))
            {
                let known = nodes[module.node].knows.entry(modules.0[target].node);
                known.or_insert_with(|| names.join("::"));
            }
        }
    }
    nodes
}

struct Modules(Vec<Module>);

impl Modules {
    fn is_below(&self, module: usize, above: usize) -> bool {
        let parent = self.0[module].parent;
        parent.is_some_and(|parent| parent == above || self.is_below(parent, above))
    }

    fn resolve(&self, module: usize, names: &[String], depth: u32) -> Option<Target> {
        let (first, rest) = names.split_first()?;
        let mut target = self.step(module, first, depth)?;
        for name in rest {
            let Target::Module(module) = target else {
                break;
            };
            // A name that is not found was created by a macro there, or comes from another crate.
            target = (self.step(module, name, depth)).unwrap_or(Target::Item(module));
        }
        Some(target)
    }

    fn step(&self, module: usize, name: &str, depth: u32) -> Option<Target> {
        let here = &self.0[module];
        match name {
            "crate" => return Some(Target::Module(0)),
            "self" => return Some(Target::Module(module)),
            "super" => return here.parent.map(Target::Module),
            _ => {}
        }
        if let Some(&child) = here.children.get(name) {
            return Some(Target::Module(child));
        }
        if here.items.contains(name) {
            return Some(Target::Item(module));
        }
        let depth = depth.checked_sub(1)?;
        if let Some(names) = here.imports.get(name) {
            return self.resolve(module, names, depth);
        }
        let mut globs = here.globs.iter();
        globs.find_map(|names| match self.resolve(module, names, depth)? {
            Target::Module(other) if other != module => self.step(other, name, depth),
            _ => None,
        })
    }
}

struct Reader<'a> {
    source: Source<'a>,
    modules: Vec<Module>,
    /// The module that is being read.
    at: usize,
}

impl Reader<'_> {
    fn file(&mut self, file: PathBuf, directory: PathBuf, parent: Option<usize>) -> usize {
        let shown = file.display();
        let text = (self.source)(&file).unwrap_or_else(|| panic!("there is no {shown}"));
        let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{shown}: {error}"));
        let module = Module {
            file,
            directory,
            parent,
            node: self.modules.len(),
            ..Module::default()
        };
        self.module(module, &parsed.items)
    }

    fn module(&mut self, module: Module, items: &[Item]) -> usize {
        let outer = mem::replace(&mut self.at, self.modules.len());
        self.modules.push(module);
        items.iter().for_each(|item| self.visit_item(item));
        mem::replace(&mut self.at, outer)
    }

    fn here(&mut self) -> &mut Module {
        &mut self.modules[self.at]
    }

    fn child(&mut self, item: &ItemMod) {
        let name = item.ident.to_string();
        let (parent, here) = (Some(self.at), self.here());
        let (file, directory, node) = (here.file.clone(), here.directory.join(&name), here.node);
        let child = if let Some((_, items)) = &item.content {
            let module = Module {
                file,
                directory,
                parent,
                node,
                ..Module::default()
            };
            self.module(module, items)
        } else if let Some(path) = item.attrs.iter().find_map(path_attribute) {
            let file = parent_of(&file).join(path);
            let directory = parent_of(&file);
            self.file(file, directory, parent)
        } else {
            let file = directory.with_extension("rs");
            let is_there = (self.source)(&file).is_some();
            let file = if is_there {
                file
            } else {
                directory.join("mod.rs")
            };
            self.file(file, directory, parent)
        };
        self.here().children.insert(name, child);
    }

    fn import(&mut self, tree: &UseTree, mut names: Names, passed_on: bool) {
        let (name, known_as) = match tree {
            UseTree::Path(path) => {
                names.push(path.ident.to_string());
                return self.import(&path.tree, names, passed_on);
            }
            UseTree::Group(group) => {
                let trees = group.items.iter();
                return trees.for_each(|tree| self.import(tree, names.clone(), passed_on));
            }
            UseTree::Glob(_) => {
                self.here().globs.push(names.clone());
                ("*".to_owned(), "*".to_owned())
            }
            UseTree::Name(name) => match (name.ident.to_string(), names.last()) {
                (name, Some(module)) if name == "self" => (name, module.clone()),
                (name, _) => (name.clone(), name),
            },
            UseTree::Rename(name) => (name.ident.to_string(), name.rename.to_string()),
        };
        names.push(name);
        self.here().imports.insert(known_as, names.clone());
        self.name(names, passed_on);
    }

    fn name(&mut self, names: Names, passed_on: bool) {
        *self.here().named.entry(names).or_insert(true) &= passed_on;
    }

    /// The arguments of macros are not parsed: names separated by `::` are paths.
    fn tokens(&mut self, tokens: TokenStream) {
        let (mut names, mut colons) = (Names::new(), 0);
        for token in tokens {
            if let TokenTree::Punct(sign) = &token
                && sign.as_char() == ':'
            {
                colons += 1;
                continue;
            }
            if colons != 2 {
                self.path(mem::take(&mut names));
            }
            colons = 0;
            match token {
                TokenTree::Ident(name) => names.push(name.to_string()),
                TokenTree::Group(group) => self.tokens(group.stream()),
                _ => {}
            }
        }
        self.path(names);
    }

    /// A single name may be a method or a variable.
    fn path(&mut self, names: Names) {
        if names.len() > 1 {
            self.name(names, false);
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let (attributes, name) = head(item);
        if attributes.iter().any(is_for_tests) {
            return;
        }
        self.here().items.extend(name.map(Ident::to_string));
        match item {
            Item::Mod(item) => self.child(item),
            Item::Use(item) => {
                let passed_on = !matches!(item.vis, Visibility::Inherited);
                self.import(&item.tree, Names::new(), passed_on);
            }
            item => visit::visit_item(self, item),
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            let names = path.segments.iter().map(|name| name.ident.to_string());
            self.name(names.collect(), false);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast Macro) {
        self.tokens(called.tokens.clone());
        visit::visit_macro(self, called);
    }

    /// `pub(crate)` is not a dependency.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}

fn head(item: &Item) -> (&[Attribute], Option<&Ident>) {
    match item {
        Item::Const(item) => (&item.attrs, Some(&item.ident)),
        Item::Enum(item) => (&item.attrs, Some(&item.ident)),
        Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
        Item::Impl(item) => (&item.attrs, None),
        Item::Macro(item) => (&item.attrs, item.ident.as_ref()),
        Item::Mod(item) => (&item.attrs, None),
        Item::Static(item) => (&item.attrs, Some(&item.ident)),
        Item::Struct(item) => (&item.attrs, Some(&item.ident)),
        Item::Trait(item) => (&item.attrs, Some(&item.ident)),
        Item::Type(item) => (&item.attrs, Some(&item.ident)),
        Item::Union(item) => (&item.attrs, Some(&item.ident)),
        Item::Use(item) => (&item.attrs, None),
        _ => (&[], None),
    }
}

/// `cfg(test)`, including among other conditions.
fn is_for_tests(attribute: &Attribute) -> bool {
    let Meta::List(list) = &attribute.meta else {
        return false;
    };
    let condition = list.tokens.to_string().replace(' ', "");
    let mut words = condition.split([',', '(', ')']);
    list.path.is_ident("cfg") && words.any(|word| word == "test") && !condition.contains("not(test")
}

fn path_attribute(attribute: &Attribute) -> Option<String> {
    let pair = attribute.meta.require_name_value().ok()?;
    match &pair.value {
        Expr::Lit(value) if pair.path.is_ident("path") => match &value.lit {
            Lit::Str(path) => Some(path.value()),
            _ => None,
        },
        _ => None,
    }
}

fn parent_of(file: &Path) -> PathBuf {
    file.parent().unwrap().to_owned()
}
