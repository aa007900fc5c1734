package burst.controller.deploy

import java.nio.charset.StandardCharsets.UTF_8
import scala.annotation.tailrec

/** Attributes of the next entry that do not fit into its own header. */
private[deploy] final case class TarExtension(
    path: Option[String] = None,
    size: Option[Long] = None,
    isSparse: Boolean = false
):
  def of(header: TarHeader): TarHeader =
    header.copy(path = path.getOrElse(header.path), size = size.getOrElse(header.size))

private[deploy] object TarExtension:
  val Empty: TarExtension = TarExtension()

  /** Reads POSIX's records, `LENGTH NAME=VALUE` and a newline, over the attributes read before. Returns none
    * if they are damaged.
    */
  @tailrec
  def records(bytes: Array[Byte], said: TarExtension, at: Int = 0): Option[TarExtension] =
    if at == bytes.length then Some(said)
    else
      record(bytes, at) match
        case Some(name, value, end) =>
          known(name, value, said) match
            case Some(more) => records(bytes, more, end)
            case None => None
        case None => None

  private def record(bytes: Array[Byte], at: Int): Option[(String, String, Int)] =
    val space = bytes.indexOf(' '.toByte, at)
    for
      length <- Option.when(space > at && space - at < 8)(String(bytes, at, space - at, UTF_8))
      length <- decimal(length)
      end = at + length.toInt
      if end > space + 1 && end <= bytes.length && bytes(end - 1) == '\n'
      text = String(bytes, space + 1, end - space - 2, UTF_8)
      equals = text.indexOf('=')
      if equals > 0
    yield (text.take(equals), text.drop(equals + 1), end)

  private def known(name: String, value: String, said: TarExtension): Option[TarExtension] = name match
    case "path" => Some(said.copy(path = Some(value)))
    case "size" => decimal(value).map(size => said.copy(size = Some(size)))
    // The contents of a sparse file are pieces, preceded by a map of where they belong.
    case sparse if sparse.startsWith("GNU.sparse.") => Some(said.copy(isSparse = true))
    case _ => Some(said)

  private def decimal(text: String): Option[Long] =
    if text.forall(c => c >= '0' && c <= '9') then text.toLongOption else None
