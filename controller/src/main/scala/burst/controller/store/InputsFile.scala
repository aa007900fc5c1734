package burst.controller.store

import burst.protocol.{Inputs, JsonText}
import java.nio.charset.StandardCharsets.US_ASCII
import org.apache.pekko.util.ByteString

/** The format of large inputs: a line that states whether one is shared by all workers or each has its own,
  * and their lengths in bytes, such as `each 12 4096 7`, followed by the inputs unchanged, so that reading
  * them back needs no parsing.
  */
private[controller] object InputsFile:
  def encode(inputs: Inputs): Iterator[ByteString] = inputs match
    case Inputs.Shared(value) => Iterator(heading("shared", Vector(value)), value.bytes)
    case Inputs.Each(values) => Iterator(heading("each", values)) ++ values.iterator.map(_.bytes)
    case Inputs.OutOfLine(_) => throw IllegalArgumentException("inputs that are kept already")

  def decode(bytes: ByteString): Inputs =
    val end = bytes.indexOf('\n'.toByte)
    if end < 0 then throw Stored.Damaged("inputs")
    val words = bytes.take(end).decodeString(US_ASCII).split(' ').toVector
    val lengths = words.tail.map(_.toIntOption.getOrElse(throw Stored.Damaged("inputs")))
    val starts = lengths.scanLeft(end + 1)(_ + _)
    if starts.last != bytes.length then throw Stored.Damaged("inputs")
    val values = starts.zip(lengths).map((start, length) => JsonText(bytes.slice(start, start + length)))
    (words.head, values) match
      case ("shared", Vector(value)) => Inputs.Shared(value)
      case ("each", _) => Inputs.Each(values)
      case _ => throw Stored.Damaged("inputs")

  private def heading(kind: String, values: Vector[JsonText]): ByteString =
    ByteString((kind +: values.map(_.length.toString)).mkString("", " ", "\n"), US_ASCII)
