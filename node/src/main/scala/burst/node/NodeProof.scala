package burst.node

/** How the nodes of a cluster prove to each other that they belong to it. There is always a proof: messages
  * from elsewhere are not even read.
  */
trait NodeProof:
  /** The part of Pekko's configuration that sets it up. */
  private[node] def transport: Map[String, Any]

  /** Creates what is missing if this node is allowed to, and checks that everything is present. Throws
    * `SetupException`.
    *
    * @param makes
    *   whether this node is the first of its cluster
    */
  private[node] def prepare(makes: Boolean): Unit

  /** A question to the operator whose node gets no answer. */
  def hint: String
