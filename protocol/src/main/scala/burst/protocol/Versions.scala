package burst.protocol

/** The versions of a protocol that one end speaks: from `oldest` to `newest`. */
final case class Versions(oldest: Int, newest: Int):
  /** The newest version that both ends speak, if any. */
  def common(others: Versions): Option[Int] =
    val version = newest.min(others.newest)
    Option.when(version >= oldest.max(others.oldest))(version)

  /** The form for headers; see [[Versions.parse]]. */
  def range: String = s"$oldest-$newest"

  override def toString: String =
    if oldest == newest then s"version $newest" else s"versions $oldest to $newest"

object Versions:
  /** `2-5`, or one version by itself. */
  def parse(range: String): Option[Versions] =
    range.split("-", 2).map(_.trim.toIntOption) match
      case Array(Some(only)) => Some(Versions(only, only))
      case Array(Some(oldest), Some(newest)) if oldest <= newest => Some(Versions(oldest, newest))
      case _ => None
