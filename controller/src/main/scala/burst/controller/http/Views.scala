package burst.controller.http

import burst.controller.definition.{Definition, FlareOptions}
import burst.controller.flare.*
import burst.controller.limits.{NamespaceLimits, OwnLimits}
import burst.controller.scheduler.{InvokerView, QueueEstimate}
import burst.controller.store.{Issued, Namespace}
import burst.protocol.{FlareId, InvokerId, Timestamp}
import io.circe.derivation.{Configuration, ConfiguredEncoder}
import io.circe.{Encoder, Json}
import io.circe.syntax.*
import scala.collection.immutable.SortedMap

/** The domain as the API shows it: one function per body of docs/architecture/api.md. */
final class Views(defaults: FlareDefaults):
  /** Shows a whole definition, with only the names of its secrets. */
  def definition(definition: Definition): Json =
    summary(definition).mapObject(
      _.add("parameters", definition.own.values.asJson)
        .add("environment", SortedMap.from(definition.environment.variables).asJson)
        .add("secrets", definition.environment.secrets.map(_.name).asJson)
    )

  /** Shows a definition without its parameters and variables. */
  def summary(definition: Definition): Json = Json.obj(
    "namespace" -> definition.namespace.asJson,
    "name" -> definition.name.asJson,
    "version" -> definition.version.asJson,
    "exec" -> Json.obj(
      "kind" -> definition.kind.asJson,
      "package" -> definition.packageId.asJson,
      "size" -> definition.packageSize.asJson
    ),
    // Options that are left to the scheduler stay null; the others show the value in force.
    "config" -> defaults.shown(definition.options).asJson,
    "updated" -> definition.updated.asJson
  )

object Views:
  def accepted(id: FlareId): Json = Json.obj("flareId" -> id.asJson)

  def acceptedGroup(id: FlareId): Json = Json.obj("groupId" -> id.asJson)

  /** Shows a flare, with the estimate of a waiting one. */
  def flare(flare: Flare, estimate: Option[QueueEstimate[Timestamp]]): Json = Json.fromFields(
    summaryFields(flare) ++ Seq(
      "queue" -> estimate.fold(Json.Null)(queue),
      "packs" -> Json.fromValues(flare.packs.map(pack)),
      "workers" -> flare.workers.asJson
    )
  )

  def summary(flare: Flare): Json = Json.fromFields(summaryFields(flare))

  def group(group: Flare, estimate: Option[QueueEstimate[Timestamp]]): Json = Json.fromFields(
    groupFields(group) ++ Seq(
      "queue" -> estimate.fold(Json.Null)(queue),
      "packs" -> Json.fromValues(group.packs.map(pack))
    )
  )

  def groupSummary(group: Flare): Json = Json.fromFields(groupFields(group))

  private def groupFields(group: Flare): Seq[(String, Json)] =
    // A group that was closed, or is being closed, has no error.
    val error = group.error.filter(_ => group.state.isFinal && group.state != FlareState.Cancelled)
    Seq("groupId" -> group.id.asJson) ++ definitionOf(group) ++
      Seq("state" -> GroupState.of(group).asJson) ++ terms(group) ++ Seq(
        "idleTimeout" -> group.request.idleTimeout.map(_.toMillis).asJson,
        "created" -> group.created.asJson,
        "opened" -> group.started.asJson,
        "closed" -> group.ended.asJson,
        "error" -> error.asJson
      )

  private def summaryFields(flare: Flare): Seq[(String, Json)] =
    Seq("flareId" -> flare.id.asJson, "groupId" -> flare.request.memberOf.asJson) ++ definitionOf(flare) ++
      Seq("state" -> flare.state.asJson, "attempt" -> flare.attempt.asJson) ++ terms(flare) ++ Seq(
        "created" -> flare.created.asJson,
        "started" -> flare.started.asJson,
        "ended" -> flare.ended.asJson,
        "error" -> flare.error.asJson
      )

  /** Shows the definition of a flare or group. */
  private def definitionOf(flare: Flare): Seq[(String, Json)] =
    val definition = flare.request.definition
    Seq(
      "namespace" -> definition.namespace.asJson,
      "name" -> definition.name.asJson,
      "version" -> definition.version.asJson
    )

  /** Shows the terms of a flare or group. */
  private def terms(flare: Flare): Seq[(String, Json)] =
    val request = flare.request
    val granularity = flare.granularity.orElse(request.granularity)
    val terms = request.terms.asJsonObject.add("granularity", granularity.asJson).remove(FlareOptions.Retries)
    ("size" -> request.size.asJson) +: terms.toVector

  private def queue(estimate: QueueEstimate[Timestamp]): Json =
    Json.obj(
      "position" -> estimate.position.asJson,
      "start" -> estimate.start.toOption.asJson,
      "waitsFor" -> estimate.start.left.toOption.map(_.toString.toLowerCase).asJson,
      "reason" -> estimate.reason.asJson
    )

  private def pack(pack: PackRecord): Json = Json.obj(
    "pack" -> pack.pack.asJson,
    "invoker" -> pack.invoker.asJson,
    "node" -> pack.node.asJson,
    "workers" -> pack.workers.asJson,
    "start" -> pack.start.asJson
  )

  /** Shows a timeline; phases that are still in progress last until `now`. */
  def timeline(flare: Flare, workers: Vector[WorkerTimeline], now: Timestamp): Json = Json.obj(
    "flareId" -> flare.id.asJson,
    "created" -> flare.created.asJson,
    "now" -> now.asJson,
    "workers" -> workers.asJson
  )

  def invoker(view: InvokerView): Json = Json.obj(
    "id" -> view.status.id.asJson,
    "slots" -> view.status.slots.asJson,
    "freeSlots" -> view.freeSlots.asJson,
    "usedSlots" -> view.usedSlots.asJson,
    "cpuLoad" -> view.status.cpuLoad.asJson,
    "state" -> InvokerState.of(view).asJson,
    "drained" -> view.drained.asJson,
    "quarantine" -> view.quarantine.filter(_ => view.up).asJson,
    "driver" -> view.status.driver.asJson,
    "warmPacks" -> view.status.warmPacks.asJson,
    "prewarmedPacks" -> view.status.prewarmedPacks.asJson,
    "runtime" -> view.status.runtime.asJson
  )

  def drain(id: InvokerId, isDrained: Boolean, usedSlots: Int): Json =
    Json.obj("id" -> id.asJson, "drained" -> isDrained.asJson, "usedSlots" -> usedSlots.asJson)

  private given Configuration = Configuration.default.withTransformMemberNames:
    case "packageBytes" => "packageSize"
    case "definitionBytes" => "definitionsSize"
    case "storedBytes" => "storedSize"
    case name => name
  private given Encoder.AsObject[NamespaceLimits] = ConfiguredEncoder.derived

  /** The names of a namespace's limits. */
  val LimitNames: Seq[String] =
    OwnLimits().productElementNames.map(summon[Configuration].transformMemberNames).toSeq

  def namespace(namespace: Namespace): Json = Json.obj(
    "name" -> namespace.name.asJson,
    "limits" -> namespace.limits.asJson,
    "created" -> namespace.created.asJson,
    "revoked" -> namespace.revoked.asJson
  )

  /** Shows fresh credentials, which are never shown again. */
  def issued(issued: Issued): Json =
    namespace(issued.namespace).deepMerge(Json.obj("auth" -> issued.credentials.asJson))
