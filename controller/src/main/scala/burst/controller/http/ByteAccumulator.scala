package burst.controller.http

import org.apache.pekko.util.{ByteString, ByteStringBuilder}

/** Gathers bytes that come in pieces of any size into a few large ones: a piece may be a single byte, and
  * keep alive the buffer that was read from the network around it. Takes at most twice the memory of its
  * bytes, and a kilobyte.
  */
private[http] final class ByteAccumulator:
  import ByteAccumulator.*

  private val full = ByteStringBuilder()
  private var last = new Array[Byte](Least)
  private var filled = 0

  def add(piece: ByteString): Unit =
    var rest = piece
    while rest.nonEmpty do
      if filled == last.length then
        close()
        last = new Array[Byte](full.length.max(Least).min(Most))
      val count = rest.copyToArray(last, filled, last.length - filled)
      filled += count
      rest = rest.drop(count)

  def clear(): Unit =
    full.clear()
    filled = 0

  def result(): ByteString =
    close()
    full.result()

  private def close(): Unit =
    full ++= ByteString.fromArrayUnsafe(last, 0, filled)
    filled = 0

private object ByteAccumulator:
  val Least = 1024
  val Most: Int = 64 * 1024
