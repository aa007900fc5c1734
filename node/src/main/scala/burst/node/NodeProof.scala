package burst.node

/** By what the nodes of a cluster prove to each other that they are of it. There is always something: what
  * comes from elsewhere is not so much as read.
  */
trait NodeProof:
  /** The part of Pekko's configuration that does it. */
  private[node] def transport: Map[String, Any]

  /** Makes what is missing where this node may, and looks whether all is there. Throws `SetupException`.
    *
    * @param makes
    *   whether this node is the first of its cluster
    */
  private[node] def prepare(makes: Boolean): Unit

  /** The question to who finds that nobody answers. */
  def asked: String
