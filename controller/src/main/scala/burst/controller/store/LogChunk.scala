package burst.controller.store

import burst.controller.flare.LogText
import burst.protocol.{LogStream, PackId, Timestamp}
import io.circe.syntax.*
import java.io.ByteArrayOutputStream
import java.nio.charset.StandardCharsets.{US_ASCII, UTF_8}

/** A piece of a log as it is stored: each text as a heading line followed by its bytes. The heading gives
  * worker, pack, stream, time and length, such as `3 0 stdout 1700000000000004 27`; `-` is the pack itself.
  */
private[controller] object LogChunk:
  /** The most that the texts of a chunk cost, unless it is a single text. */
  val Limit: Long = 32L << 10

  /** The most that is read of a log at a time, by cost, unless it is a single text. */
  val Part: Long = 256L << 10

  def encode(texts: Vector[LogText]): Array[Byte] =
    val bytes = ByteArrayOutputStream()
    texts.foreach: text =>
      val content = text.text.getBytes(UTF_8)
      val worker = text.worker.fold("-")(_.toString)
      val heading = s"$worker ${text.pack} ${name(text.stream)} ${text.at} ${content.length}\n"
      bytes.writeBytes(heading.getBytes(US_ASCII))
      bytes.writeBytes(content)
    bytes.toByteArray

  def decode(bytes: Array[Byte]): Vector[LogText] =
    Vector.unfold(0): start =>
      Option.when(start < bytes.length):
        val end = bytes.indexOf('\n'.toByte, start)
        if end < 0 then throw Stored.Damaged("a log")
        String(bytes, start, end - start, US_ASCII).split(' ') match
          case Array(worker, pack, stream, at, length) =>
            val next = end + 1 + length.toInt
            if next > bytes.length then throw Stored.Damaged("a log")
            val content = String(bytes, end + 1, length.toInt, UTF_8)
            val whose = Option.when(worker != "-")(worker.toInt)
            (
              LogText(whose, PackId(pack.toInt), Streams(stream), Timestamp.ofMicros(at.toLong), content),
              next
            )
          case _ => throw Stored.Damaged("a log")

  /** Splits texts into groups, each of which becomes a chunk. */
  def grouped(texts: Vector[LogText], limit: Long = Limit): Vector[Vector[LogText]] =
    val groups = Vector.newBuilder[Vector[LogText]]
    var group = Vector.empty[LogText]
    var cost = 0L
    texts.foreach: text =>
      if group.nonEmpty && cost + text.cost > limit then
        groups += group
        group = Vector.empty
        cost = 0
      group :+= text
      cost += text.cost
    if group.nonEmpty then groups += group
    groups.result()

  private def name(stream: LogStream): String = stream.asJson.asString.getOrElse(stream.toString)
  private val Streams: Map[String, LogStream] = LogStream.values.map(stream => name(stream) -> stream).toMap
