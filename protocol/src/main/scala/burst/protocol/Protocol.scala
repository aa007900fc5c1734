package burst.protocol

/** The versions of the protocols between nodes, and between invokers and runtimes. Nodes of adjacent releases
  * work together while a cluster is upgraded: both ends announce which versions they speak, and use the
  * newest that they have in common.
  *
  *   - A field that can be ignored by those who do not know it is optional, and needs no version.
  *   - For anything else that the previous release could not read, `newest` is raised, and it is sent only in
  *     sessions of that version.
  *   - `oldest` is raised when a version is dropped, no sooner than in the release after the next.
  */
object Protocol:
  /** Between controllers, and between them and invokers. */
  val Nodes: Versions = Versions(oldest = 2, newest = 4)

  /** The version from which on the scheduler recognises a flare that is submitted again. */
  val SubmissionIds: Int = 4

  /** Between invokers and runtimes. */
  val Runtimes: Versions = Versions(oldest = 1, newest = 1)

  /** The request header by which the invoker announces to a runtime which versions it speaks, and the
    * answer's header with the version that the runtime has chosen.
    */
  val VersionsHeader = "burst-versions"
  val VersionHeader = "burst-version"
