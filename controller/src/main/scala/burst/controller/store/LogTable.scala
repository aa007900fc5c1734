package burst.controller.store

import burst.controller.blob.{BlobName, FlareBlobStore}
import burst.controller.flare.LogText
import burst.protocol.FlareId
import java.nio.file.NoSuchFileException
import scalikejdbc.*

/** The logs of flares, in chunks; large ones are stored beside the database. Chunks are numbered per flare,
  * and numbers are never reused: a reader of a log in parts recognises by them that it was cleared meanwhile.
  * `limit` is what a flare's log may cost.
  */
private[store] final class LogTable(database: Database, blobs: FlareBlobStore, limit: Long):
  import LogTable.*

  /** Returns the lines that still fit. Once something was dropped nothing follows, so that a log has no
    * holes. A blob is used only if all of its lines fit.
    */
  def fitting(present: Present, pieces: Vector[FlareChange.LogPiece]): Added =
    val (last, added) = pieces.foldLeft((present, Vector.empty[Vector[Chunk]])):
      case ((before, added), piece) =>
        val (after, chunks) = fitting(before, piece)
        (after, added :+ chunks)
    Added(present, last, added.flatten)

  private def fitting(present: Present, piece: FlareChange.LogPiece): (Present, Vector[Chunk]) =
    val kept = Vector.newBuilder[LogText]
    var spent = present.bytes
    val texts = if present.truncated then Iterator.empty else piece.texts.iterator
    val cut = present.truncated || texts.exists: text =>
      val whole = text.within(limit - spent)
      whole.foreach: part =>
        kept += part
        spent += part.cost
      !whole.contains(text)
    val contents = piece.beside.filterNot(_ => cut) match
      case None => LogChunk.grouped(kept.result()).map(group => (LogChunk.encode(group), None))
      case beside => Vector((Array.emptyByteArray, beside))
    val chunks = contents.zipWithIndex.map { case ((texts, beside), i) =>
      Chunk(present.chunks + i, texts, beside)
    }
    (Present(spent, present.chunks + chunks.size, cut), chunks)

  def insert(chunks: Vector[(FlareId, Chunk)])(using DBSession): Unit = if chunks.nonEmpty then
    sql"INSERT INTO flare_log_chunk (flare_id, number, texts, kept) VALUES (?, ?, ?, ?)"
      .batch(chunks.map((id, chunk) =>
        Seq(id.value, chunk.number, chunk.texts, chunk.beside.map(_.text).orNull)
      )*)
      .apply()

  def clear(id: FlareId)(using DBSession): Unit =
    sql"DELETE FROM flare_log_chunk WHERE flare_id = ${id.value}".update()
    sql"UPDATE flare SET log_bytes = 0, log_truncated = 0 WHERE id = ${id.value}".update()

  def extent(id: FlareId): LogExtent =
    database.read("reading logs"):
      sql"""SELECT log_truncated, log_chunks,
              (SELECT MIN(number) FROM flare_log_chunk WHERE flare_id = flare.id) AS first
            FROM flare WHERE id = ${id.value}"""
        .row: row =>
          val until = row.long("log_chunks")
          LogExtent(
            from = row.longOpt("first").getOrElse(until),
            until = until,
            truncated = row.int("log_truncated") != 0
          )
        .getOrElse(LogExtent(from = 0, until = 0, truncated = false))

  def part(id: FlareId, from: Long, until: Long): Option[LogPart] =
    val rows = database.read("reading logs"):
      sql"""SELECT number, texts, kept FROM flare_log_chunk
            WHERE flare_id = ${id.value} AND number >= $from AND number < $until
            ORDER BY number LIMIT $PartChunks"""
        .rows(row => (row.long("number"), row.bytes("texts"), row.stringOpt("kept").map(BlobName.stored)))
    rows.headOption
      .filter(_._1 == from)
      .flatMap:
        case (_, _, Some(name)) =>
          // Cleared chunks are deleted from the database first; the blob may have been deleted since it was
          // read there.
          try Some(LogPart(LogChunk.decode(blobs.load(id, name).toArrayUnsafe()), from + 1))
          catch case _: NoSuchFileException => None
        case _ =>
          val inline = rows.takeWhile(_._3.isEmpty)
          Some(LogPart(inline.flatMap((_, texts, _) => LogChunk.decode(texts)), from + inline.size))

private[store] object LogTable:
  /** How many chunks of the database are read at a time. */
  private val PartChunks = LogChunk.Part / LogChunk.Limit

  /** Lines in the database, or the name of the blob that holds them. */
  final case class Chunk(number: Long, texts: Array[Byte], beside: Option[BlobName])

  /** Chunks added to a log, with its state before and after. */
  final case class Added(before: Present, after: Present, chunks: Vector[Chunk]):
    def cost: Long = after.bytes - before.bytes

  /** The size of a flare's log, and whether something was dropped already. */
  final case class Present(bytes: Long, chunks: Long, truncated: Boolean)

  val Empty: Present = Present(0, 0, truncated = false)

  val columns: SQLSyntax = sqls"log_bytes, log_chunks, log_truncated"

  def present(row: WrappedResultSet): Present =
    Present(row.long("log_bytes"), row.long("log_chunks"), row.int("log_truncated") != 0)
