package burst.controller.blob

import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import java.nio.file.Path
import java.nio.file.StandardOpenOption.READ
import scala.util.Using

/** Reads and writes heap buffers in slices: the JDK copies each buffer it is given into memory outside the
  * heap, and keeps that memory for the thread.
  */
private[controller] object FileBytes:
  private val Slice = 64 * 1024

  /** Writes all remaining bytes, at the channel's position. */
  def write(channel: FileChannel, bytes: ByteBuffer): Unit =
    bySlices(bytes)(channel.write(_) >= 0)

  /** Reads `length` bytes of a file, or as many as there are. */
  def read(file: Path, from: Long, length: Long): Array[Byte] =
    Using.resource(FileChannel.open(file, READ)): channel =>
      channel.position(from.max(0).min(channel.size))
      val buffer = ByteBuffer.allocate((channel.size - channel.position).min(length.max(0)).toInt)
      bySlices(buffer)(channel.read(_) >= 0)
      if buffer.hasRemaining then java.util.Arrays.copyOf(buffer.array, buffer.position) else buffer.array

  def readAll(file: Path): Array[Byte] = read(file, 0, Int.MaxValue)

  /** Moves slices until no byte remains, or `move` returns that there is nothing more. */
  private def bySlices(bytes: ByteBuffer)(move: ByteBuffer => Boolean): Unit =
    val end = bytes.limit
    var moving = true
    while moving && bytes.position < end do
      bytes.limit(end.min(bytes.position + Slice))
      moving = move(bytes)
    bytes.limit(end)
