package burst.controller.action

import burst.controller.blob.{BlobName, FlareBlobStore}
import burst.controller.flare.{ActivationFields, Flare, Output}
import burst.controller.json.JsonPieces
import burst.controller.store.{ActivationFilter, ActivationStore, ResultReader, StoredActivation}
import burst.protocol.{FlareId, JsonText}
import java.nio.file.NoSuchFileException

/** Reads records of invocations. Calls block. */
final class Activations(
    store: ActivationStore,
    results: ResultReader,
    blobs: FlareBlobStore,
    pieces: JsonPieces
):
  import Activations.*

  /** Finds a record that is not of a burst. */
  def find(namespace: String, id: FlareId): Option[ActivationRecord] =
    store.find(namespace, id).filterNot(found => burst(found).isDefined).map(record)

  def findPack(namespace: String, id: FlareId): Option[BurstPack] =
    store
      .findNear(namespace, id)
      .flatMap(burst)
      .flatMap((flare, fields) => BurstPack.of(id, flare, fields))
      .headOption

  private def burst(found: StoredActivation): Option[(Flare, ActivationFields)] =
    for
      flare <- found.body.toOption
      fields <- flare.request.activation if fields.burst
    yield (flare, fields)

  def list(namespace: String, filter: ActivationFilter, limit: Int, skip: Int): Vector[ActivationHead] =
    store.list(namespace, filter, limit, skip).map(found => record(found).head)

  /** Returns the ids of the records in the list, without reading outputs. */
  def ids(namespace: String, filter: ActivationFilter, limit: Int, skip: Int): Vector[FlareId] =
    store.list(namespace, filter, limit, skip).map(_.id)

  def count(namespace: String, filter: ActivationFilter): Long = store.count(namespace, filter)

  /** Returns the record of a flare of one worker that has ended. */
  def of(flare: Flare): Option[ActivationRecord] =
    flare.request.activation.flatMap: _ =>
      of(flare, results.results(flare.id, 0, 1).headOption.flatMap(_.output))

  /** Returns the record with this output; if it is inline, nothing is read. */
  def of(flare: Flare, output: Option[Output]): Option[ActivationRecord] =
    flare.request.activation.map: fields =>
      val run = RunResult.of(flare, text(flare.id, output), pieces)
      ActivationRecord(FlareRecord.head(flare.id, flare, fields, run.status), run.result)

  private def record(found: StoredActivation): ActivationRecord = found.body match
    case Left(fields) =>
      val head = RecordFields.read(fields)
      val ended = found.abandoned.map(ActivationHead.inMillis)
      val result = found.output match
        case Some(Output.Inline(text)) => text
        case _ => RunResult.error(ActivationStatus.InternalError, Abandoned).result
      ActivationRecord(
        head.copy(end = ended.orElse(head.end), duration = ended.map(_ - head.start).orElse(head.duration)),
        result,
        found.logs
      )
    case Right(flare) =>
      val fields = flare.request.activation.getOrElse(throw IllegalStateException("not an invocation"))
      val run = if fields.burst then ofBurst(flare) else ofOne(found, flare)
      ActivationRecord(FlareRecord.head(found.id, flare, fields, run.status), run.result)

  private def ofBurst(flare: Flare): RunResult =
    flare.error.fold(RunResult(ActivationStatus.Success, JsonText("[]")))(RunResult.failed(flare, _))

  private def ofOne(found: StoredActivation, flare: Flare): RunResult =
    // In a list, a missing output has no error.
    val output = found.output.fold(RunOutput.Text(JsonText.EmptyObject))(_ => text(found.id, found.output))
    RunResult.of(flare, output, pieces)

  private def text(id: FlareId, output: Option[Output]): RunOutput = output match
    case None => RunOutput.Nothing
    case Some(Output.Inline(text)) => RunOutput.Text(text)
    case Some(Output.OutOfLine(size)) =>
      val isTooLarge = size > RunResult.MostBytes
      try
        val bytes =
          blobs.piece(id, BlobName.output(0), 0, if isTooLarge then RunOutput.Shown else RunResult.MostBytes)
        if isTooLarge then RunOutput.tooLarge(size, bytes)
        else RunOutput.Text(JsonText(bytes.compact))
      catch case _: NoSuchFileException => RunOutput.Nothing

object Activations:
  private val Abandoned = "The controller ended before the sequence did; invoke it again."
