package burst.controller.action

import burst.controller.definition.KindFamily
import burst.controller.flare.{ActivationFields, Flare}
import burst.protocol.{FlareId, PackStart}
import io.circe.syntax.*
import io.circe.{Json, JsonObject}
import scala.concurrent.duration.Duration

/** The flare of an invocation as OpenWhisk's clients see it. Pure. */
private[action] object FlareRecord:
  def head(id: FlareId, flare: Flare, fields: ActivationFields, status: ActivationStatus): ActivationHead =
    val start = ActivationHead.inMillis(flare.begun)
    val end = flare.ended.map(ActivationHead.inMillis)
    ActivationHead(
      id,
      flare.namespace,
      name(fields.path),
      fields.version,
      flare.namespace,
      start,
      end,
      end.map(end => (end - start).max(Duration.Zero)),
      fields.cause,
      status,
      annotations(flare, fields)
    )

  /** Returns the name without namespace and package. */
  def name(path: String): String = path.drop(path.lastIndexOf('/') + 1)

  private def annotations(flare: Flare, fields: ActivationFields): JsonObject =
    val initialised = flare.packs.headOption.exists(!_.start.contains(PackStart.Warm))
    val ready = flare.workers.headOption.flatMap(_.started).orElse(flare.started)
    val init =
      for
        placed <- flare.placed
        up <- ready if initialised
        // The clock of the worker's machine may differ.
        within = flare.ended.fold(up)(up.min)
      yield "initTime" -> (within - placed).max(Duration.Zero).toMillis.asJson
    val limits = Json.obj(
      "timeout" -> flare.request.timeout.toMillis.asJson,
      "memory" -> flare.request.memory.asJson,
      "logs" -> fields.logs.asJson,
      "concurrency" -> fields.concurrency.asJson
    )
    JsonObject.fromIterable(
      Vector(
        "path" -> fields.path.asJson,
        "kind" -> KindFamily.shown(flare.request.definition.kind).asJson,
        "timeout" -> RunResult.isTimeout(flare).asJson,
        "limits" -> limits,
        "waitTime" -> (flare.begun - flare.created).max(Duration.Zero).toMillis.asJson
      ) ++ init
        ++ Option.when(fields.component)("causedBy" -> "sequence".asJson)
        ++ fields.binding.map(binding => "binding" -> binding.asJson)
    )
