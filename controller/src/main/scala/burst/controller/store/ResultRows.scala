package burst.controller.store

import burst.controller.flare.{Output, WorkerResult}
import burst.protocol.{FlareId, JsonText}
import io.circe.syntax.*
import scalikejdbc.*

/** The results of a flare's workers, as rows. */
private[store] final class ResultRows(id: FlareId, results: Vector[WorkerResult]):
  import ResultRows.*

  // One for each worker, the last: a statement must not change a row twice.
  private val last =
    if results.sizeIs <= 1 then results
    else results.groupMapReduce(_.worker)(identity)((_, last) => last).values.toVector

  private val rows = last.map: result =>
    Row(
      result.worker,
      result.output.collect { case Output.Inline(text) => text.bytes.utf8String },
      result.output.collect { case Output.OutOfLine(size) => size },
      result.error.map(_.asJson.noSpaces)
    )

  /** The bytes they take, approximately, including blobs. */
  def bytes: Long = rows.map(_.bytes).sum

  private def values: Vector[Seq[Any]] =
    rows.map(row => Seq[Any](id.value, row.worker, row.output, row.kept, row.error))

private[store] object ResultRows:
  def output(row: WrappedResultSet): Option[Output] =
    row
      .stringOpt("output")
      .map(text => Output.Inline(JsonText(text)))
      .orElse(row.longOpt("output_kept").map(Output.OutOfLine(_)))

  /** Replaces what was stored for the same workers. */
  def insert(all: Vector[ResultRows])(using DBSession): Unit =
    val rows = all.flatMap(_.values)
    if rows.nonEmpty then
      val _ = sql"""INSERT INTO flare_result (flare_id, worker, output, output_kept, error)
                    VALUES (?, ?, ?, ?, ?)
                    ON CONFLICT (flare_id, worker) DO UPDATE SET output = excluded.output,
                      output_kept = excluded.output_kept, error = excluded.error"""
        .batch(rows*)
        .apply()

  private final case class Row(
      worker: Int,
      output: Option[String],
      kept: Option[Long],
      error: Option[String]
  ):
    def bytes: Long =
      Stored.RowBytes + output.fold(0)(_.length) + error.fold(0)(_.length) + kept.getOrElse(0L)
