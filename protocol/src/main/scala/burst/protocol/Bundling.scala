package burst.protocol

/** How messages of a kind travel as one, and how much each adds to that. */
trait Bundling[A]:
  def bundle(messages: Vector[A]): A

  /** About so many bytes of it are users'. */
  def length(message: A): Long

object Bundling:
  /** The version of the protocol between nodes since which bundles are read. */
  val Since: Int = 3
