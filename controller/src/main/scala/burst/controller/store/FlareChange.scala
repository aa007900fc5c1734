package burst.controller.store

import burst.controller.blob.BlobName
import burst.controller.flare.{Flare, LogText, Output, PhaseMark, WorkerResult}
import burst.protocol.FlareId

/** A change of a flare, stored as a whole or not at all. */
final case class FlareChange(
    id: FlareId,
    record: FlareChange.Record = FlareChange.Record.Same,
    results: Vector[WorkerResult] = Vector.empty,
    logs: Vector[FlareChange.LogPiece] = Vector.empty,
    phases: Vector[PhaseMark] = Vector.empty
):
  def isEmpty: Boolean =
    record == FlareChange.Record.Same && results.isEmpty && logs.isEmpty && phases.isEmpty

  /** The size of its texts in bytes, approximately. */
  def weight: Long =
    val outputs = results.iterator.flatMap(_.output).collect { case Output.Inline(text) => text.length }
    outputs.sum + logs.iterator.flatMap(_.texts).map(_.cost).sum + phases.iterator.map(
      _.name.length.toLong
    ).sum

object FlareChange:
  /** The change of the flare's record. */
  enum Record:
    case Same

    /** A flare that has just been accepted; inputs that are `OutOfLine` are stored in a blob. A flare that
      * has `begun` no longer needs its package.
      */
    case New(flare: Flare, begun: Boolean)

    /** Replaces what changes during a flare's life: state, times, error, packs, workers, attempt. */
    case Next(flare: Flare)

  /** Lines of the log; `beside` names the blob that holds just these, if there is one. */
  final case class LogPiece(texts: Vector[LogText], beside: Option[BlobName] = None)
