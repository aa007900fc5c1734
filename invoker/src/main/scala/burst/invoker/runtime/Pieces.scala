package burst.invoker.runtime

import org.apache.pekko.util.ByteString
import scala.annotation.tailrec

/** Bytes that arrive in pieces of any size: many small ones take little more memory than their bytes, and
  * each byte is copied a few times (logarithmic in the total). The sender chooses the sizes, and may be
  * malicious.
  */
private[runtime] final case class Pieces private (length: Int, lastFirst: List[ByteString]):
  def isEmpty: Boolean = length == 0

  /** Adds a piece, without keeping the buffer that it is cut from. */
  def +(piece: ByteString): Pieces =
    if piece.isEmpty then this else Pieces(length + piece.length, Pieces.joined(piece.compact, lastFirst))

  def toByteString: ByteString = lastFirst match
    case List(one) => one
    case several => several.foldLeft(ByteString.empty)((after, piece) => piece ++ after).compact

private[runtime] object Pieces:
  val Empty: Pieces = Pieces(0, Nil)

  // Each piece is at least twice as long as the next.
  @tailrec private def joined(last: ByteString, before: List[ByteString]): List[ByteString] = before match
    case next :: rest if next.length < 2 * last.length => joined((next ++ last).compact, rest)
    case _ => last :: before
