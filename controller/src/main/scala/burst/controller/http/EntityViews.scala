package burst.controller.http

import burst.controller.action.{Action, ActionName}
import burst.controller.definition.{ActionPackage, Definition, PackageName, Parameters}
import io.circe.syntax.*
import io.circe.{Json, JsonObject}

/** OpenWhisk's entities as its clients see them. */
final class EntityViews(defaults: FlareDefaults):
  /** Shows all but the program's code, with the parameters of the package and of the binding it was reached
    * through.
    */
  def action(action: Action): JsonObject =
    val parameters = Parameters(
      JsonObject.fromIterable(action.parameters.toIterable ++ action.initParameters.toIterable),
      action.initParameters.keys.toSet
    )
    head(action.definition)
      .add("exec", EntityViews.exec(action.definition).asJson)
      .add("parameters", KeyValues.show(parameters))

  /** Adds the package behind the binding that the action was reached through, if any. */
  def bound(action: Action): JsonObject =
    val shown = this.action(action)
    action.target.packageName.filter(_ => action.target != action.name) match
      case Some(there) =>
        shown.add("binding", EntityViews.packageRef(PackageName(action.target.namespace, there)))
      case None => shown

  def action(definition: Definition): JsonObject =
    head(definition)
      .add("exec", EntityViews.exec(definition).asJson)
      .add("parameters", KeyValues.show(definition.all))

  /** Shows an action as lists do. */
  def summary(definition: Definition): Json =
    head(definition).add("exec", Json.obj("binary" -> definition.action.binary.asJson)).asJson

  private def head(definition: Definition): JsonObject =
    val name = ActionName.of(definition.namespace, definition.name)
    JsonObject(
      "namespace" -> (definition.namespace +: name.packageName.toVector).mkString("/").asJson,
      "name" -> name.name.asJson,
      "version" -> definition.shownVersion.asJson,
      "publish" -> definition.action.publish.asJson,
      "annotations" -> KeyValues.show(annotations(definition)),
      "limits" -> limits(definition),
      "updated" -> definition.updated.millis.asJson
    )

  /** Includes the kind, also for a definition that was deployed by our own API. */
  private def annotations(definition: Definition): JsonObject =
    definition.action.annotations.add("exec", definition.kind.asJson)

  private def limits(definition: Definition): Json =
    val options = defaults.shown(definition.options)
    Json.obj(
      "timeout" -> options.timeout.map(_.toMillis).asJson,
      "memory" -> options.memory.asJson,
      "logs" -> definition.action.logs.asJson,
      "concurrency" -> definition.action.concurrency.asJson
    )

object EntityViews:
  /** Shows the program without its code. */
  private def exec(definition: Definition): JsonObject =
    val action = definition.action
    val kind = JsonObject("kind" -> definition.kind.asJson)
    if definition.isSequence then kind.add("components", action.components.asJson)
    else
      val whole = kind.add("binary", action.binary.asJson)
      val named = action.main.fold(whole)(main => whole.add("main", main.asJson))
      action.image.fold(named)(image => named.add("image", image.asJson))

  /** Shows a package with its actions and feeds. */
  def whole(found: ActionPackage, actions: Vector[Definition]): Json =
    val (feeds, others) = actions.partition(_.action.annotations.contains("feed"))
    head(found)
      .add("binding", found.binding.fold(Json.obj())(packageRef))
      .add("parameters", KeyValues.show(found.parameters))
      .add("actions", Json.fromValues(others.map(member)))
      .add("feeds", Json.fromValues(feeds.map(member)))
      .asJson

  /** Shows a package as it is after a change. */
  def stored(found: ActionPackage): Json =
    head(found)
      .add("binding", found.binding.fold(Json.obj())(packageRef))
      .add("parameters", KeyValues.show(found.parameters))
      .asJson

  /** Shows a package as lists do. */
  def summary(found: ActionPackage): Json =
    head(found).add("binding", found.binding.fold(Json.False)(packageRef)).asJson

  private def head(found: ActionPackage): JsonObject = JsonObject(
    "namespace" -> found.namespace.asJson,
    "name" -> found.name.asJson,
    "version" -> found.version.asJson,
    "publish" -> found.publish.asJson,
    "annotations" -> KeyValues.show(annotations(found)),
    "updated" -> found.updated.millis.asJson
  )

  private def annotations(found: ActionPackage): JsonObject =
    found.binding.fold(found.annotations)(target => found.annotations.add("binding", packageRef(target)))

  private def member(definition: Definition): Json = Json.obj(
    "name" -> ActionName.of(definition.namespace, definition.name).name.asJson,
    "version" -> definition.shownVersion.asJson,
    "annotations" -> KeyValues.show(definition.action.annotations.add("exec", definition.kind.asJson))
  )

  private def packageRef(name: PackageName): Json =
    Json.obj("namespace" -> name.namespace.asJson, "name" -> name.name.asJson)
