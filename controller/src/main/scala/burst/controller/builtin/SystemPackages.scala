package burst.controller.builtin

import burst.controller.action.BuiltIns
import burst.controller.definition.{
  ActionFields,
  ActionPackage,
  Definition,
  EntityVersion,
  FlareOptions,
  Parameters
}
import burst.controller.deploy.Definitions
import burst.controller.limits.NamespaceLimits
import burst.controller.store.{ActionPackageStore, DefinitionStore}
import burst.protocol.{PackageId, Timestamp}
import io.circe.syntax.*
import io.circe.{Json, JsonObject}

/** The built-in actions as clients see them: published packages, stored like any others, so that all code
  * that reads, lists, binds or invokes actions finds them.
  */
final class SystemPackages(
    packages: ActionPackageStore,
    stored: DefinitionStore,
    definitions: Definitions,
    limits: NamespaceLimits
):
  import SystemPackages.*

  /** Stores what is missing or differs. Blocks. */
  def establish(): Unit =
    val now = Timestamp.now()
    // They belong to no tenant.
    val unlimited = limits.copy(definitions = Int.MaxValue, definitionBytes = Long.MaxValue)
    All.foreach: (name, described) =>
      if !packages.find(BuiltIns.Namespace, name).exists(isSame(_, described)) then
        val change = packages.edit(BuiltIns.Namespace, name, unlimited): there =>
          Right(packageOf(name, described, there, now))
        change.left.foreach(refusal => throw IllegalStateException(s"package $name: $refusal"))
      described.actions.foreach: action =>
        val path = s"$name/${action.name}"
        if !stored.find(BuiltIns.Namespace, path).exists(isSame(_, action)) then
          val change = definitions.edit(BuiltIns.Namespace, path, Some(Array.emptyByteArray), unlimited): _ =>
            Right(definitionOf(path, action, now))
          change.left.foreach(refusal => throw IllegalStateException(s"action $path: $refusal"))

object SystemPackages:
  private final case class Described(description: String, parameters: JsonObject, actions: Vector[Own])
  private final case class Own(name: String, annotations: JsonObject)

  private def own(
      name: String,
      description: String,
      parameters: Seq[(String, Boolean)],
      isFeed: Boolean = false
  ) =
    val shown = parameters.map: (name, required) =>
      Json.obj("name" -> name.asJson, "required" -> required.asJson)
    val annotations = JsonObject("description" -> description.asJson, "parameters" -> shown.asJson)
    Own(name, if isFeed then annotations.add("feed", Json.True) else annotations)

  private def feed(name: String, description: String, parameters: (String, Boolean)*) =
    own(name, description, parameters :+ ("trigger_payload" -> false), isFeed = true)

  private def util(name: String, description: String, parameters: (String, Boolean)*) =
    own(name, description, parameters)

  /** The packages by name. */
  private val All = Vector(
    "alarms" -> Described(
      "Alarms and periodic utility",
      JsonObject("trigger_payload" -> "".asJson),
      Vector(
        feed(
          "alarm",
          "Fire trigger when alarm occurs",
          "cron" -> true,
          "timezone" -> false,
          "startDate" -> false,
          "stopDate" -> false,
          "maxTriggers" -> false
        ),
        feed(
          "interval",
          "Fire trigger at specified interval",
          "minutes" -> true,
          "startDate" -> false,
          "stopDate" -> false,
          "maxTriggers" -> false
        ),
        feed("once", "Fire trigger once when alarm occurs", "date" -> true, "deleteAfterFire" -> false)
      )
    ),
    "utils" -> Described(
      "Building blocks that format and assemble data",
      JsonObject.empty,
      Vector(
        util("echo", "Returns the input", "payload" -> false),
        util("cat", "Concatenates input into a string", "lines" -> true),
        util("sort", "Sorts an array", "lines" -> true),
        util("head", "Extract prefix of an array", "lines" -> true, "num" -> false),
        util("split", "Split a string into an array", "payload" -> true, "separator" -> false),
        util("smash", "Nests all properties under given property", "$fieldName" -> true),
        util("date", "Current date and time"),
        util("namespace", "Returns namespace for the authorization key used to invoke this action"),
        util(
          "hosturl",
          "Returns the URL to activate an action or trigger",
          "web" -> false,
          "ext" -> false,
          "trigger" -> false,
          "path" -> false
        )
      )
    )
  )

  private def packageOf(name: String, described: Described, there: Option[ActionPackage], now: Timestamp) =
    ActionPackage(
      BuiltIns.Namespace,
      name,
      there.fold(EntityVersion.First)(found => EntityVersion.after(found.version)),
      publish = true,
      binding = None,
      Parameters(described.parameters),
      JsonObject("description" -> described.description.asJson),
      now
    )

  private def isSame(there: ActionPackage, described: Described): Boolean =
    val wanted = packageOf(there.name, described, None, there.updated)
    there.copy(version = wanted.version) == wanted

  private def definitionOf(path: String, action: Own, now: Timestamp) = Definition(
    BuiltIns.Namespace,
    path,
    version = "",
    BuiltIns.Kind,
    PackageId.of(Array.emptyByteArray),
    packageSize = 0,
    FlareOptions(),
    JsonObject.empty,
    now,
    action = ActionFields(
      binary = false,
      annotations = action.annotations.add("exec", BuiltIns.Kind.asJson),
      publish = true
    )
  )

  private def isSame(there: Definition, action: Own): Boolean =
    there.kind == BuiltIns.Kind && there.action.annotations == definitionOf(
      there.name,
      action,
      there.updated
    ).action.annotations
