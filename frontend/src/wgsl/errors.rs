//! naga's errors about WGSL as messages for its author: the offending expression, types spelled as in WGSL, names instead of naga's numbers.

use super::names::Names;
use super::writer::SpanMap;
use naga::common::wgsl::{TryToWgsl, TypeContext};
use naga::front::Typifier;
use naga::proc::ResolveContext;
use naga::valid::{
    CallError, ComposeError, EntryPointError, ExpressionError, FunctionError, GlobalVariableError, LocalVariableError, TypeError,
    ValidationError, VaryingError,
};
use naga::{AddressSpace, BinaryOperator, Expression, Function, Handle, Module, Type, TypeInner, UnaryOperator, WithSpan};
use retroshade_ir::{Diagnostic, Span};
use std::error::Error;

/// Types that a note of naga's lists and WGSL does not have.
const NOT_WGSL: [&str; 4] = ["f64", "i64", "u64", "i16"];

/// A message and where it belongs, if that is known better than naga says.
type Said = (String, Option<Span>);

/// Errors of the WGSL parser.
pub(crate) fn parse(e: &naga::front::wgsl::ParseError, spans: SpanMap, names: Names) -> Diagnostic {
    let labels: Vec<(Span, &str)> = e.labels().map(|(s, l)| (spans(s), l)).collect();
    let mut message = plainly(e.message().replace(" (see msg)", ""));
    // naga puts the name of a function or variable first and what is wrong with it behind.
    let wrong = |l: &str| l.contains("has type") || l.starts_with("this expression has") || l.starts_with("but this");
    let main = labels.iter().position(|(_, l)| wrong(l)).filter(|n| *n > 0 && labels[0].0.start <= labels[*n].0.start).unwrap_or(0);
    let (mut at, label) = labels.get(main).copied().unwrap_or((Span::NONE, ""));
    let dull = ["the `", "see msg", "definition of", "invalid accessor", "unknown ", "Some("];
    if !label.is_empty() && !message.contains(label) && !dull.iter().any(|d| label.starts_with(d)) {
        message = format!("{message} ({label})");
    }
    if message.starts_with("the type of `") {
        at = initial_value(at, names.text).unwrap_or(at);
    }
    if at.is_none() {
        at = names.start();
    }
    let mut d = Diagnostic::error("F0010", at, clean(&message));
    for (_, (s, l)) in labels.iter().enumerate().filter(|(n, (_, l))| *n != main && !l.is_empty()) {
        d = d.note(*s, clean(l));
    }
    let known = |n: &&str| {
        !n.contains("maintainers") && !n.contains("enable this extension") && !NOT_WGSL.iter().any(|t| n.contains(t)) && !n.contains("http")
    };
    for n in e.notes().filter(known) {
        d = d.note(Span::NONE, clean(n));
    }
    d
}

/// The names that WGSL's text gives to extensions grow; implementations begin theirs with their own.
fn unknown_extension(name: &str, kind: &str) -> String {
    match name.split_once('_').map(|(of, _)| of).filter(|of| ["chromium", "wgpu", "dawn", "google", "mozilla"].contains(of)) {
        Some(_) => format!("`{name}` is an extension of one implementation and no part of WGSL"),
        None => format!("`{name}` is no {kind} of WGSL that is read here"),
    }
}

/// What naga says of words that it has not learned and of operands, without its own names.
fn plainly(message: String) -> String {
    let quoted = |text: &str| text.split('`').nth(1).map(str::to_string);
    if let Some(name) = message.strip_prefix("unknown enable-extension").and_then(quoted) {
        return match &name[..] {
            "atomic_vec2u_min_max" => format!("64-bit atomics (`{name}`) exist on none of the machines"),
            _ => unknown_extension(&name, "extension"),
        };
    }
    if let Some(name) = message.strip_prefix("unknown language extension").and_then(quoted) {
        return unknown_extension(&name, "language extension");
    }
    if let Some(name) = message.strip_suffix("enable extension is not enabled").and_then(quoted) {
        return format!("this needs `enable {name};` at the top of the shader");
    }
    if let Some((what, name)) = message.strip_prefix("unknown ").and_then(|rest| rest.split_once(": `")) {
        let today = if name == "push_constant`" { "; today's name is `immediate`" } else { "" };
        return format!("`{name} is no {what} of WGSL{today}");
    }
    if let Some(op) = message.strip_prefix("Incompatible operands: ").and_then(|rest| rest.split('(').next()) {
        let known = OPERATORS.iter().find(|(name, _)| *name == op).map_or("this operator", |(_, sign)| *sign);
        return format!("the operands of {known} are of types that do not fit together");
    }
    message
}

/// Operators by naga's names.
const OPERATORS: [(&str, &str); 18] = [
    ("Add", "`+`"),
    ("Subtract", "`-`"),
    ("Multiply", "`*`"),
    ("Divide", "`/`"),
    ("Modulo", "`%`"),
    ("Equal", "`==`"),
    ("NotEqual", "`!=`"),
    ("Less", "`<`"),
    ("LessEqual", "`<=`"),
    ("Greater", "`>`"),
    ("GreaterEqual", "`>=`"),
    ("And", "`&`"),
    ("ExclusiveOr", "`^`"),
    ("InclusiveOr", "`|`"),
    ("LogicalAnd", "`&&`"),
    ("LogicalOr", "`||`"),
    ("ShiftLeft", "`<<`"),
    ("ShiftRight", "`>>`"),
];

/// The initial value behind a name that is declared there: `let a: T = value;`.
fn initial_value(name: Span, text: &str) -> Option<Span> {
    let rest = text.get(name.end as usize..)?;
    let statement = &rest[..rest.find(';')?];
    let equals = statement.find('=')?;
    let value = statement[equals + 1..].trim();
    let at = name.end + (statement.len() - statement[equals + 1..].trim_start().len()) as u32;
    (!value.is_empty()).then(|| Span::new(name.file, at, at + value.len() as u32))
}

/// A message without what only naga's authors understand: numbers of things, links, the braces around abstract types.
fn clean(text: &str) -> String {
    let mut out = text.replace("{AbstractFloat}", "abstract float").replace("{AbstractInt}", "abstract integer");
    for link in ["https://", "http://"] {
        while let Some(at) = out.find(link) {
            let end = out[at..].find(char::is_whitespace).map_or(out.len(), |n| at + n);
            let from = out[..at].rfind(", see ").filter(|n| at - n <= 6).unwrap_or(at);
            out.replace_range(from..end, "");
        }
    }
    // `Some([1])`, `[2]`, `TypeFlags(…)`.
    while let Some((from, to)) = number(&out) {
        let from = if out[..from].ends_with(' ') { from - 1 } else { from };
        out.replace_range(from..to, "");
    }
    for (naga, plain) in [("Naga ", "the front end "), ("naga ", "the front end "), ("`Emit`", "evaluation")] {
        out = out.replace(naga, plain);
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A number of a thing in naga, with what is around it.
fn number(text: &str) -> Option<(usize, usize)> {
    for (open, _) in text.match_indices('[') {
        let Some(close) = text[open..].find(']').map(|n| open + n) else { continue };
        // `a[3]` is the user's.
        let indexed = text[..open].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ']' | ')' | '`'));
        if indexed || close == open + 1 || !text[open + 1..close].bytes().all(|b| b.is_ascii_digit()) {
            continue;
        }
        return Some(if text[..open].ends_with("Some(") && text[close + 1..].starts_with(')') {
            (open - 5, close + 2)
        } else {
            (open, close + 1)
        });
    }
    let flags = text.find("TypeFlags(")?;
    Some((flags, text[flags..].find(')').map_or(text.len(), |n| flags + n + 1)))
}

/// An error of naga's validator.
pub(crate) fn invalid(e: &WithSpan<ValidationError>, module: &Module, spans: SpanMap, names: Names) -> Diagnostic {
    let said = match e.as_inner() {
        ValidationError::Function { handle, source, name } => {
            let f = module.functions.try_get(*handle).ok();
            f.map(|f| Code { module, f, spans, names, name }.function(source))
        }
        ValidationError::EntryPoint { name, source, .. } => {
            let f = module.entry_points.iter().find(|p| p.name == *name).map(|p| &p.function);
            f.map(|f| entry(&Code { module, f, spans, names, name }, source))
        }
        ValidationError::GlobalVariable { handle, name, source } => {
            let ty = module.global_variables.try_get(*handle).ok().map(|g| g.ty);
            let ty = ty.map_or(String::new(), |t| module.types.type_to_string(t));
            let place = names.global(name).or(Some(spans(module.global_variables.get_span(*handle))));
            Some((global(name, &ty, source), place))
        }
        ValidationError::Type { handle, name, source } => Some(type_error(module, *handle, name, source, spans)),
        ValidationError::ConstExpression { handle, source } => {
            Some((source.to_string(), Some(spans(module.global_expressions.get_span(*handle)))))
        }
        ValidationError::ArraySizeError { handle } => {
            let place = spans(module.global_expressions.get_span(*handle));
            Some(("the size of an array must be greater than zero".into(), Some(place)))
        }
        ValidationError::Constant { name, source, .. } => Some((format!("the constant `{name}`: {}", lower(source)), names.global(name))),
        ValidationError::Override { name, source, .. } => Some((format!("the override `{name}`: {}", lower(source)), names.global(name))),
        _ => None,
    };
    let (message, place) = said.unwrap_or_else(|| (chain(e.as_inner()), None));
    // Places are added from the inside out, so that the shortest is the most precise.
    let shortest = e.spans().map(|(s, _)| spans(*s)).filter(|s| !s.is_none()).min_by_key(|s| s.end - s.start);
    let at = place.filter(|s| !s.is_none()).or(shortest).unwrap_or_else(|| names.start());
    Diagnostic::error("F0013", at, clean(&message))
}

/// An error with labelled places: the first is the error's, the others are notes.
pub(crate) fn spanned<E: Error>(code: &'static str, e: &WithSpan<E>, spans: SpanMap) -> Diagnostic {
    let best = e.spans().map(|(s, _)| spans(*s)).filter(|s| !s.is_none()).min_by_key(|s| s.end - s.start).unwrap_or(Span::NONE);
    Diagnostic::error(code, best, clean(&chain(e.as_inner())))
}

/// A message and all that caused it, in one line.
fn chain(e: &dyn Error) -> String {
    let mut text = e.to_string();
    let mut source = e.source();
    while let Some(s) = source {
        let more = s.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        source = s.source();
    }
    text
}

/// An error and its causes, to stand behind a colon.
fn lower(e: &dyn Error) -> String {
    let text = chain(e);
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |c| c.to_lowercase().chain(chars).collect())
}

fn space(s: AddressSpace) -> &'static str {
    naga::common::wgsl::address_space_str(s).0.unwrap_or("resource")
}

fn global(name: &str, ty: &str, e: &GlobalVariableError) -> String {
    match e {
        GlobalVariableError::MissingTypeFlags { .. } => format!("`{name}`: variables of its address space cannot be of type `{ty}`"),
        GlobalVariableError::InvalidType(s) | GlobalVariableError::InvalidUsage(s) => {
            format!("`{name}`: a variable of type `{ty}` cannot be in address space `{}`", space(*s))
        }
        GlobalVariableError::Alignment(s, _, how) => {
            format!("`{name}` cannot be laid out in address space `{}`: {}", space(*s), lower(how))
        }
        GlobalVariableError::InitializerType => format!("the initial value of `{name}` is not of its type `{ty}`"),
        GlobalVariableError::InitializerNotAllowed(s) => {
            format!("`{name}`: variables in address space `{}` have no initial values", space(*s))
        }
        GlobalVariableError::InvalidBinding => {
            format!("`{name}` needs @group and @binding if it is a resource, and may have neither otherwise")
        }
        GlobalVariableError::StorageAddressSpaceWriteOnlyNotSupported => {
            format!("`{name}`: storage is read, or read and written, but never only written: use read_write")
        }
        other => format!("`{name}`: {}", lower(other)),
    }
}

fn type_error(module: &Module, handle: Handle<Type>, name: &str, e: &TypeError, spans: SpanMap) -> Said {
    let at = spans(module.types.get_span(handle));
    let ty = if name.is_empty() { module.types.type_to_string(handle) } else { name.to_string() };
    let text = match e {
        TypeError::InvalidArrayBaseType(t) => format!("an array cannot have elements of type `{}`", module.types.type_to_string(*t)),
        TypeError::InvalidData(t) => format!("`{ty}` cannot hold a `{}`", module.types.type_to_string(*t)),
        TypeError::InvalidDynamicArray(member, t) => {
            format!("the member `{member}` of `{ty}` has no fixed size (`{}`): only the last one may", module.types.type_to_string(*t))
        }
        TypeError::EmptyStruct => format!("the structure `{ty}` has no members"),
        other => format!("`{ty}`: {}", lower(other)),
    };
    (text, Some(at))
}

/// Errors of an entry point's interface.
fn entry(c: &Code<'_>, e: &EntryPointError) -> Said {
    let function = c.names.function(c.name);
    let global = |h: &Handle<naga::GlobalVariable>| {
        let name = c.module.global_variables.try_get(*h).ok().and_then(|g| g.name.clone()).unwrap_or_default();
        let at = c.names.global(&name).unwrap_or_else(|| (c.spans)(c.module.global_variables.get_span(*h)));
        (name, at)
    };
    match e {
        EntryPointError::Function(f) => c.function(f),
        EntryPointError::Argument(n, v) => {
            let name = c.f.arguments.get(*n as usize).and_then(|a| a.name.as_deref()).unwrap_or("");
            let ty = c.f.arguments.get(*n as usize).map(|a| a.ty);
            let (text, member) = c.varying(v, ty);
            (format!("the argument `{name}`: {text}"), member.or_else(|| Some(c.names.argument(c.name, name))))
        }
        EntryPointError::Result(v) => {
            let (text, member) = c.varying(v, c.f.result.as_ref().map(|r| r.ty));
            (format!("the result of `{}`: {text}", c.name), member.or(Some(function)))
        }
        EntryPointError::BindingCollision(h) => {
            let (name, at) = global(h);
            (format!("another resource has the binding of `{name}` already"), Some(at))
        }
        EntryPointError::InvalidGlobalUsage(h, _) => {
            let (name, at) = global(h);
            (format!("`{name}` is used in a way that its access mode forbids"), Some(at))
        }
        EntryPointError::ForbiddenStageOperations => (format!("`{}` uses operations that its stage does not have", c.name), Some(function)),
        EntryPointError::OutOfRangeWorkgroupSize => {
            ("a workgroup has at least one invocation in each direction, and at most 1024 in all".into(), None)
        }
        other => (format!("`{}`: {}", c.name, lower(other)), Some(function)),
    }
}

/// A function with an error.
struct Code<'a> {
    module: &'a Module,
    f: &'a Function,
    spans: SpanMap<'a>,
    names: Names<'a>,
    name: &'a str,
}

impl Code<'_> {
    fn at(&self, e: Handle<Expression>) -> Option<Span> {
        Some((self.spans)(self.f.expressions.get_span(e))).filter(|s| !s.is_none())
    }

    fn ty(&self, t: Handle<Type>) -> String {
        self.module.types.type_to_string(t)
    }

    fn inner(&self, t: &TypeInner) -> String {
        let mut out = String::new();
        let _ = self.module.types.write_type_inner(t, &mut out);
        out
    }

    /// The type of an expression as the user wrote it: what naga spreads over a vector is still a scalar.
    fn of(&self, e: Handle<Expression>) -> String {
        let e = match self.f.expressions.try_get(e) {
            Ok(Expression::Splat { value, .. }) => *value,
            _ => e,
        };
        let mut typifier = Typifier::new();
        let context = ResolveContext::with_locals(self.module, &self.f.local_variables, &self.f.arguments);
        if typifier.grow(e, &self.f.expressions, &context).is_err() {
            return "unknown".into();
        }
        match typifier.get(e, &self.module.types) {
            // A variable is called by what it holds.
            TypeInner::Pointer { base, .. } => self.ty(*base),
            TypeInner::ValuePointer { size: None, scalar, .. } => self.inner(&TypeInner::Scalar(*scalar)),
            TypeInner::ValuePointer { size: Some(size), scalar, .. } => self.inner(&TypeInner::Vector { size: *size, scalar: *scalar }),
            t => self.inner(t),
        }
    }

    fn function(&self, e: &FunctionError) -> Said {
        match e {
            FunctionError::Expression { handle, source } => self.expression(*handle, source),
            FunctionError::LocalVariable { handle, name, source } => {
                let ty = self.f.local_variables.try_get(*handle).map_or(String::new(), |v| self.ty(v.ty));
                let text = match source {
                    LocalVariableError::InvalidType(_) => format!("the variable `{name}` cannot be of type `{ty}`"),
                    LocalVariableError::InitializerType => format!("the initial value of `{name}` is not of its type `{ty}`"),
                    other => format!("the variable `{name}`: {}", lower(other)),
                };
                (text, None)
            }
            FunctionError::InvalidReturnType { expression, expected_ty } => match (expression, expected_ty) {
                (Some(e), Some(t)) => (format!("`{}` returns `{}`, but this is `{}`", self.name, self.ty(*t), self.of(*e)), self.at(*e)),
                (Some(e), None) => (format!("`{}` returns nothing, but this returns `{}`", self.name, self.of(*e)), self.at(*e)),
                (None, Some(t)) => {
                    let text = format!("`{}` returns `{}`, but not every way through it ends in a value", self.name, self.ty(*t));
                    (text, Some(self.names.function(self.name)))
                }
                (None, None) => (lower(e), None),
            },
            FunctionError::InvalidIfType(e) => (format!("a condition must be `bool`, but this is `{}`", self.of(*e)), self.at(*e)),
            FunctionError::InvalidSwitchType(e) => {
                (format!("`switch` needs an `i32` or `u32`, but this is `{}`", self.of(*e)), self.at(*e))
            }
            FunctionError::InvalidStorePointer(e) => ("this cannot be written to".into(), self.at(*e)),
            FunctionError::InvalidStoreTypes { pointer, value } => {
                (format!("a `{}` cannot be stored in a `{}`", self.of(*value), self.of(*pointer)), self.at(*value))
            }
            FunctionError::InvalidStoreValue { actual, actual_ty, expected_ty } => {
                (format!("the texture stores `{}`, but this is `{}`", self.inner(expected_ty), self.inner(actual_ty)), self.at(*actual))
            }
            FunctionError::InvalidCall { function, error } => self.call(*function, error),
            FunctionError::ConflictingSwitchCase(v) => {
                let value = match v {
                    naga::SwitchValue::I32(v) => v.to_string(),
                    naga::SwitchValue::U32(v) => format!("{v}u"),
                    naga::SwitchValue::Default => "default".into(),
                };
                (format!("two cases of a `switch` have the value {value}"), None)
            }
            FunctionError::BreakOutsideOfLoopOrSwitch => ("`break` is neither in a loop nor in a `switch`".into(), None),
            FunctionError::ContinueOutsideOfLoop => ("`continue` is not in a loop".into(), None),
            FunctionError::InvalidArgumentType { name, .. } => (
                format!("the argument `{name}` of `{}` has a type that cannot be passed", self.name),
                Some(self.names.argument(self.name, name)),
            ),
            FunctionError::InvalidArgumentPointerSpace { name, space: s, .. } => {
                let text =
                    format!("the argument `{name}` of `{}` points into address space `{}`, which cannot be passed", self.name, space(*s));
                (text, Some(self.names.argument(self.name, name)))
            }
            FunctionError::NonConstructibleReturnType => {
                (format!("`{}` returns a type that functions cannot return", self.name), Some(self.names.function(self.name)))
            }
            other => (lower(other), None),
        }
    }

    fn call(&self, function: Handle<Function>, e: &CallError) -> Said {
        let called = self.module.functions.try_get(function).ok();
        let name = called.and_then(|f| f.name.as_deref()).unwrap_or("");
        match e {
            CallError::ArgumentCount { required, seen } => (format!("`{name}` takes {}, not {seen}", arguments(*required)), None),
            CallError::ArgumentType { index, required, seen_expression } => {
                let text = format!(
                    "argument {} of `{name}` must be `{}`, but this is `{}`",
                    index + 1,
                    self.ty(*required),
                    self.argument_type(*seen_expression)
                );
                (text, self.at(*seen_expression))
            }
            CallError::Argument { source, .. } => (lower(source), None),
            other => (format!("the call of `{name}`: {}", lower(other)), None),
        }
    }

    /// The type of an argument, pointers as such.
    fn argument_type(&self, e: Handle<Expression>) -> String {
        let mut typifier = Typifier::new();
        let context = ResolveContext::with_locals(self.module, &self.f.local_variables, &self.f.arguments);
        match typifier.grow(e, &self.f.expressions, &context) {
            Ok(()) => self.inner(typifier.get(e, &self.module.types)),
            Err(_) => "unknown".into(),
        }
    }

    fn expression(&self, handle: Handle<Expression>, e: &ExpressionError) -> Said {
        use ExpressionError as E;
        let here = self.at(handle);
        match e {
            E::InvalidBinaryOperandTypes { op, lhs_expr, rhs_expr, .. } => {
                let text = format!("`{}` has no meaning between `{}` and `{}`", operator(*op), self.of(*lhs_expr), self.of(*rhs_expr));
                (text, here)
            }
            E::InvalidUnaryOperandType(op, e) => {
                let sign = match op {
                    UnaryOperator::Negate => "-",
                    UnaryOperator::LogicalNot => "!",
                    UnaryOperator::BitwiseNot => "~",
                };
                (format!("`{sign}` has no meaning before a `{}`", self.of(*e)), self.at(*e).or(here))
            }
            E::Compose(ComposeError::ComponentCount { given, expected }) => {
                (format!("`{}` is made of {expected} values, not {given}", self.of(handle)), here)
            }
            E::Compose(ComposeError::ComponentType { index }) => match self.f.expressions.try_get(handle) {
                Ok(Expression::Compose { ty, components }) if (*index as usize) < components.len() => {
                    let c = components[*index as usize];
                    (format!("a `{}` cannot be part {} of a `{}`", self.of(c), index + 1, self.ty(*ty)), self.at(c))
                }
                _ => (lower(e), here),
            },
            E::Compose(ComposeError::Type(t)) | E::InvalidZeroValue(t) => {
                (format!("values of type `{}` cannot be made", self.ty(*t)), here)
            }
            E::IndexOutOfBounds(base, n) => (format!("index {n} is out of the bounds of a `{}`", self.of(*base)), here),
            E::NegativeIndex(base) => (format!("a negative index is out of the bounds of a `{}`", self.of(*base)), here),
            E::InvalidIndexType(i) => (format!("an index must be `i32` or `u32`, but this is `{}`", self.of(*i)), self.at(*i)),
            E::InvalidBaseType(b) => (format!("a `{}` has no parts", self.of(*b)), self.at(*b)),
            E::InvalidPointerType(p) => (format!("this is no variable: `{}`", self.of(*p)), self.at(*p)),
            E::InvalidArrayType(a) => (format!("`arrayLength` needs an array without a size, but this is `{}`", self.of(*a)), self.at(*a)),
            E::SelectValuesTypeMismatch { accept, reject } => {
                (format!("`select` chooses between values of one type, not `{}` and `{}`", self.inner(reject), self.inner(accept)), here)
            }
            E::SelectConditionNotABool { actual } => {
                (format!("the condition of `select` must be `bool`, but is `{}`", self.inner(actual)), here)
            }
            E::InvalidBooleanVector(e) => (format!("this needs `bool` values, not `{}`", self.of(*e)), self.at(*e)),
            E::InvalidFloatArgument(e) => (format!("this needs `f32` values, not `{}`", self.of(*e)), self.at(*e)),
            E::InvalidImageCoordinateType(dim, e) => {
                (format!("`{}` are no coordinates of a {} texture", self.of(*e), dimension(*dim)), self.at(*e))
            }
            E::InvalidSampleOffset(dim, e) => (format!("`{}` is no offset in a {} texture", self.of(*e), dimension(*dim)), self.at(*e)),
            E::InvalidSampleLevelGradientType(dim, e) => {
                (format!("`{}` is no derivative of coordinates of a {} texture", self.of(*e), dimension(*dim)), self.at(*e))
            }
            E::InvalidImageArrayIndexType(e) | E::InvalidImageOtherIndexType(e) => {
                (format!("this must be `i32` or `u32`, but is `{}`", self.of(*e)), self.at(*e))
            }
            E::InvalidDepthReference(e) | E::InvalidSampleLevelExactType(e) | E::InvalidSampleLevelBiasType(e) => {
                (format!("this must be `f32`, but is `{}`", self.of(*e)), self.at(*e))
            }
            E::ComparisonSamplingMismatch { .. } => {
                ("comparisons need a depth texture with a `sampler_comparison`, everything else a `sampler`".into(), here)
            }
            E::ExpectedImageType(t) => (format!("this must be a texture, but is `{}`", self.ty(*t)), here),
            E::ExpectedSamplerType(t) => (format!("this must be a sampler, but is `{}`", self.ty(*t)), here),
            E::WrongArgumentCount(fun) => (format!("`{}` takes another number of arguments", fun.to_wgsl_for_diagnostics()), here),
            E::InvalidArgumentType(fun, n, e) => {
                let text = format!("argument {} of `{}` cannot be `{}`", n + 1, fun.to_wgsl_for_diagnostics(), self.of(*e));
                (text, self.at(*e))
            }
            E::InvalidCastArgument => ("this conversion does not exist".into(), here),
            E::ShiftAmountTooLarge { lhs_type, rhs_expr } => {
                (format!("a `{}` cannot be shifted that far", self.inner(lhs_type)), self.at(*rhs_expr))
            }
            E::UnsupportedWidth(fun, ..) => (format!("`{}` does not exist for numbers of this width", fun.to_wgsl_for_diagnostics()), here),
            other => (lower(other), here),
        }
    }

    /// An error of an input or output; the place of the member, where it is one's.
    fn varying(&self, e: &VaryingError, ty: Option<Handle<Type>>) -> Said {
        match e {
            VaryingError::NotIOShareableType(t) | VaryingError::InvalidType(t) => {
                (format!("`{}` is not handed between stages, only numbers and vectors of them are", self.ty(*t)), None)
            }
            VaryingError::InvalidBuiltInStage(b) => (format!("`{}` does not exist in this stage", b.to_wgsl_for_diagnostics()), None),
            VaryingError::InvalidBuiltInType(b, t) => {
                (format!("`{}` is not of type `{}`", b.to_wgsl_for_diagnostics(), self.inner(t)), None)
            }
            VaryingError::DuplicateBuiltIn(b) => (format!("`{}` is there twice", b.to_wgsl_for_diagnostics()), None),
            VaryingError::MissingBinding => ("it needs @location or @builtin".into(), None),
            VaryingError::MemberMissingBinding(n) => {
                let member = ty.and_then(|t| match &self.module.types[t].inner {
                    TypeInner::Struct { members, .. } => members.get(*n as usize).and_then(|m| m.name.clone()),
                    _ => None,
                });
                let name = member.unwrap_or_default();
                let at = self.names.global(&name);
                (format!("the member `{name}` needs @location or @builtin"), at)
            }
            VaryingError::BindingCollision { location } => (format!("location {location} is taken already"), None),
            other => (lower(other), None),
        }
    }
}

fn arguments(n: usize) -> String {
    if n == 1 { "1 argument".into() } else { format!("{n} arguments") }
}

fn dimension(d: naga::ImageDimension) -> &'static str {
    match d {
        naga::ImageDimension::D1 => "1D",
        naga::ImageDimension::D2 => "2D",
        naga::ImageDimension::D3 => "3D",
        naga::ImageDimension::Cube => "cube",
    }
}

fn operator(op: BinaryOperator) -> &'static str {
    use BinaryOperator as B;
    match op {
        B::Add => "+",
        B::Subtract => "-",
        B::Multiply => "*",
        B::Divide => "/",
        B::Modulo => "%",
        B::Equal => "==",
        B::NotEqual => "!=",
        B::Less => "<",
        B::LessEqual => "<=",
        B::Greater => ">",
        B::GreaterEqual => ">=",
        B::And => "&",
        B::ExclusiveOr => "^",
        B::InclusiveOr => "|",
        B::LogicalAnd => "&&",
        B::LogicalOr => "||",
        B::ShiftLeft => "<<",
        B::ShiftRight => ">>",
    }
}

#[cfg(test)]
mod tests {
    use super::plainly;

    #[test]
    fn nothing_of_naga_is_in_a_message() {
        for (from, to) in [
            ("Incompatible operands: Greater(Struct { members: [] }, _)", "the operands of `>` are of types that do not fit together"),
            ("unknown attribute: `fragment_depth`", "`fragment_depth` is no attribute of WGSL"),
            ("unknown language extension `texel_buffers`", "`texel_buffers` is no language extension of WGSL that is read here"),
            ("unknown enable-extension `chromium_pixels`", "`chromium_pixels` is an extension of one implementation and no part of WGSL"),
            ("invalid field accessor `x`", "invalid field accessor `x`"),
        ] {
            assert_eq!(plainly(from.into()), to);
        }
    }
}
