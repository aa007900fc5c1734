package burst.controller.http

import burst.controller.action.{ActionProblem, SequenceProblem}
import burst.controller.definition.{Kind, PackageName, VariableName}
import burst.controller.store.{Collection, PackageRefusal}
import org.apache.pekko.http.scaladsl.model.StatusCode
import org.apache.pekko.http.scaladsl.model.StatusCodes.*

/** Why a request about one of OpenWhisk's entities is refused. Words that OpenWhisk's clients look for in an
  * answer are the same as in OpenWhisk's.
  */
enum EntityProblem:
  case Unreachable(problem: ActionProblem)
  case NoSuchPackage(name: String)

  /** The name belongs to an entity of another collection. */
  case InOtherCollection(name: String, collection: Collection)
  case PackageNotStored(name: String, refusal: PackageRefusal)
  case OfSequence(problem: SequenceProblem)

  /** No kind, or an unknown one. */
  case UnknownKind(kind: Option[String])
  case LimitRange(limit: String, value: String, least: Long, most: Long, unit: String)
  case BadPairs(field: String)
  case FieldTooLarge(field: String, limit: Long)
  case TooManyValues(field: String, limit: Int)

  /** A parameter with `init` whose name no program's environment may contain. */
  case NoVariable(parameter: String)

  /** A parameter with `init` whose text no environment can hold. */
  case NoVariablesValue(parameter: String)
  case InvalidVersion
  case InvalidName(field: String)
  case ReservedName(name: String)
  case ThroughBinding(name: String)
  case NothingToBurst(kind: String)

object EntityProblem:
  /** Returns a status, and a sentence that says what to do. */
  def describe(problem: EntityProblem): (StatusCode, String) = problem match
    case Unreachable(problem) => describe(problem)
    case NoSuchPackage(name) => missing(s"package '$name'")
    case InOtherCollection(name, collection) =>
      Conflict -> s"Resource by this name exists but is not in this collection: '$name' is ${collection.one}."
    case PackageNotStored(name, refusal) => describe(name, refusal)
    case OfSequence(problem) => describe(problem)
    case UnknownKind(kind) =>
      val said = kind.fold("The field 'exec.kind' is missing")(text =>
        s"The kind '${Fields.shortened(text)}' is not one of this platform's"
      )
      BadRequest -> s"$said; choose one of: ${Kind.Names.mkString(", ")}."
    case LimitRange(limit, value, least, most, unit) =>
      BadRequest -> s"The field 'limits.$limit' is $value, but must be a whole number from $least to $most ($unit)."
    case BadPairs(field) =>
      BadRequest -> s"""The field '$field' must be an array of objects with a 'key', a string, and a 'value'."""
    case FieldTooLarge(field, limit) =>
      ContentTooLarge -> s"The field '$field' has more than $limit bytes; make it smaller."
    case TooManyValues(field, limit) =>
      BadRequest -> s"The field '$field' holds more than $limit values; put them where the action can read them."
    case NoVariable(parameter) =>
      val name = Fields.shortened(parameter)
      BadRequest -> s"""The parameter '$name' has 'init' and cannot be a variable of a program;
        | give it a name without '=' and NUL that is not ${VariableName.Reserved} and begins with none of
        | ${VariableName.ReservedPrefixes.mkString(", ")}.""".stripMargin.replace("\n", "")
    case NoVariablesValue(parameter) =>
      val name = Fields.shortened(parameter)
      BadRequest -> s"The parameter '$name' has 'init' and cannot be a variable of a program; give it a value without NUL."
    case InvalidVersion =>
      BadRequest -> "The field 'version' must be three numbers with dots between them, such as 1.0.2."
    case InvalidName(field) => BadRequest -> s"The field '$field' is no name of an entity; correct it."
    case ReservedName(name) => BadRequest -> s"The name '$name' is the platform's own; choose another one."
    case NothingToBurst(kind) =>
      BadRequest -> s"An action of the kind '$kind' has no program that could run in packs; choose another action."
    case ThroughBinding(name) =>
      BadRequest -> s"'$name' is bound to another package; change the action in that one."

  private def missing(what: String): (StatusCode, String) =
    NotFound -> s"The requested resource does not exist: there is no $what."

  private def describe(problem: ActionProblem): (StatusCode, String) = problem match
    case ActionProblem.NoSuchAction(name) => missing(s"action '${name.path}'")
    case ActionProblem.NoSuchPackage(name) => missing(s"package '$name'")
    case ActionProblem.NotEntitled =>
      Forbidden -> "These credentials open another namespace, and this is in no published package of that one."

  private def describe(problem: SequenceProblem): (StatusCode, String) = problem match
    case SequenceProblem.NoComponents =>
      BadRequest -> "A sequence has components; name at least one action in 'exec.components'."
    case SequenceProblem.BadComponents =>
      BadRequest -> "The field 'exec.components' must be an array of actions' names, such as /_/hello."
    case SequenceProblem.NoSuchComponent(name) =>
      BadRequest -> s"The sequence's component '${name.qualified}' does not exist; create it first."
    case SequenceProblem.NotEntitled(name) =>
      Forbidden -> s"The sequence's component '${name.qualified}' is in no published package."
    case SequenceProblem.Cyclic =>
      BadRequest -> "The sequence has itself among its components; take it out."
    case SequenceProblem.TooLong(most) =>
      BadRequest -> s"The sequence has more than $most actions, with those of its sequences; shorten it."

  private def describe(name: String, refusal: PackageRefusal): (StatusCode, String) = refusal match
    case PackageRefusal.Exists =>
      Conflict -> s"There is a package '$name' already (resource already exists); update it (`overwrite=true`) to replace it."
    case PackageRefusal.Missing => missing(s"package '$name'")
    case PackageRefusal.NameTaken(by) =>
      Conflict -> s"'$name' is the name of ${by.one} already; choose another name."
    case PackageRefusal.BindsNothing(target) =>
      BadRequest -> s"There is no package '${shown(target)}' to bind; create it first."
    case PackageRefusal.BindsOther(target, collection) =>
      Conflict -> s"'${shown(target)}' is no package but of the ${collection.plural}; bind a package."
    case PackageRefusal.BindsBinding(target) =>
      BadRequest -> s"'${shown(target)}' is bound to another package; bind that one."
    case PackageRefusal.BindsClosed =>
      Forbidden -> "These credentials open another namespace, which has published no package of that name."
    case PackageRefusal.NoBinding =>
      Conflict -> s"'$name' is a package and cannot become a binding; bind under another name."
    case PackageRefusal.NotEmpty(actions) =>
      Conflict -> s"The package '$name' has actions ($actions); delete them first, or send force=true."
    case PackageRefusal.TooMany(allowed) =>
      ContentTooLarge -> s"This namespace may have at most $allowed packages, and has as many; remove one."
    case PackageRefusal.TooLarge(bytes, allowed) =>
      ContentTooLarge -> s"With it this namespace's definitions and packages would have $bytes bytes, but it may have $allowed; remove some."

  private def shown(name: PackageName): String = s"/${name.namespace}/${name.name}"
