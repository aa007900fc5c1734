package burst.controller.json

import java.io.OutputStream
import java.util.Arrays

/** Accepts at most `most` bytes, into an array that is allocated once. */
private[json] final class BoundedBytes(most: Int) extends OutputStream:
  private val bytes = new Array[Byte](most)
  private var length = 0
  private var fits = true

  /** Returns what was written, unless it was too much. */
  def result: Option[Array[Byte]] =
    Option.when(fits)(if length == most then bytes else Arrays.copyOf(bytes, length))

  override def write(byte: Int): Unit = write(Array(byte.toByte), 0, 1)

  override def write(from: Array[Byte], offset: Int, count: Int): Unit =
    fits = fits && count <= most - length
    if fits then
      System.arraycopy(from, offset, bytes, length, count)
      length += count
