package burst.invoker.runtime

import org.apache.pekko.util.ByteString

/** Cuts a stream of chunks into lines: a pure data structure. A line longer than `maxLength` breaks the
  * stream.
  */
private[runtime] final case class LineBuffer(maxLength: Int, rest: Pieces = Pieces.Empty):

  /** The lines that `chunk` completes, and the buffer that remains. */
  def feed(chunk: ByteString): Either[LineBuffer.TooLong, (LineBuffer, Vector[ByteString])] =
    // Only the new bytes can contain a new end of line: the rest is not searched again.
    val firstEnd = chunk.indexOf('\n'.toByte)
    if firstEnd < 0 then grown(rest, chunk).map((_, Vector.empty))
    else
      val lines = Vector.newBuilder[ByteString]
      lines += (if rest.isEmpty then chunk.take(firstEnd) else (rest + chunk.take(firstEnd)).toByteString)
      var from = firstEnd + 1
      var end = chunk.indexOf('\n'.toByte, from)
      while end >= 0 do
        lines += chunk.slice(from, end)
        from = end + 1
        end = chunk.indexOf('\n'.toByte, from)
      val complete = lines.result()
      if complete.exists(_.length > maxLength) then Left(LineBuffer.TooLong(maxLength))
      else grown(Pieces.Empty, chunk.drop(from)).map((_, complete.filter(_.nonEmpty)))

  private def grown(before: Pieces, bytes: ByteString): Either[LineBuffer.TooLong, LineBuffer] =
    Either.cond(
      before.length + bytes.length <= maxLength,
      copy(rest = before + bytes),
      LineBuffer.TooLong(maxLength)
    )

private[runtime] object LineBuffer:
  final case class TooLong(limit: Int)
