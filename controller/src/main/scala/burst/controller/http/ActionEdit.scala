package burst.controller.http

import burst.controller.definition.{ActionFields, Definition, FlareOptions, Kind, Parameters}
import burst.controller.store.DeployRefusal
import burst.protocol.{PackageId, Timestamp}
import io.circe.syntax.*
import io.circe.{Json, JsonObject}

/** Applies a request to the stored definition, if there is one, and returns the resulting definition. Pure.
  */
final class ActionEdit(
    namespace: String,
    name: String,
    change: ActionChange,
    components: Vector[String],
    overwrite: Boolean,
    now: Timestamp
):
  def apply(there: Option[Definition]): Either[DeployRefusal, Definition] =
    there match
      case Some(_) if !overwrite => Left(DeployRefusal.Exists)
      case Some(there) => concurrent(next(there, change.version.orElse(there.action.nextLabel)))
      case None =>
        change.exec.toRight(DeployRefusal.NoProgram).flatMap: exec =>
          val keyless = JsonObject("provide-api-key" -> Json.False)
          val empty = Definition(
            namespace,
            name,
            version = "",
            exec.kind,
            PackageId.of(exec.code.bytes),
            exec.code.bytes.length,
            FlareOptions(),
            JsonObject.empty,
            now,
            action = ActionFields(annotations = keyless)
          )
          concurrent(next(empty, change.version))

  private def next(there: Definition, label: Option[String]): Definition =
    val kind = change.exec.fold(there.kind)(_.kind)
    // A sequence keeps no parameters: they would come back once a program replaced it.
    val parameters =
      if Kind.isSequence(kind) then Parameters.Empty else change.parameters.getOrElse(there.own)
    val options = FlareOptions(timeout = change.timeout, memory = change.memory).orElse(there.options)
    val kept = there.action.copy(
      annotations = annotations(there, kind),
      publish = change.publish.getOrElse(there.action.publish),
      initParameters = parameters.init,
      logs = change.logs.getOrElse(there.action.logs),
      concurrency = change.concurrency.getOrElse(there.action.concurrency),
      label = label
    )
    val edited = there.copy(
      kind = kind,
      options = options,
      parameters = parameters.values,
      updated = now,
      action = kept
    )
    change.exec.fold(edited)(withProgram(edited, _))

  private def withProgram(edited: Definition, exec: ActionExec): Definition = edited.copy(
    packageId = PackageId.of(exec.code.bytes),
    packageSize = exec.code.bytes.length,
    action = edited.action.copy(
      main = exec.main,
      image = exec.image,
      components = components,
      binary = exec.code.binary
    )
  )

  private def annotations(there: Definition, kind: String): JsonObject =
    val kept = there.action.annotations.filterKeys(!change.removedAnnotations(_))
    JsonObject.fromIterable(kept.toIterable ++ change.annotations.toIterable).add("exec", kind.asJson)

  private def concurrent(definition: Definition): Either[DeployRefusal, Definition] =
    Either.cond(
      definition.action.concurrency == 1 || definition.family.exists(_.isConcurrent),
      definition,
      DeployRefusal.NotConcurrent(definition.kind)
    )
