package burst.protocol

/** How several messages of one kind are combined into one, and how much each adds to it. */
trait Bundling[A]:
  def bundle(messages: Vector[A]): A

  /** About how many of its bytes come from users. */
  def length(message: A): Long

object Bundling:
  /** The version of the protocol between nodes from which on bundles are understood. */
  val Since: Int = 3
