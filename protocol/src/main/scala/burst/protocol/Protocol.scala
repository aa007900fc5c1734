package burst.protocol

/** The versions of what is said between nodes, and to runtimes. Nodes of releases next to each other work
  * together while a cluster is upgraded: both ends say which versions they speak, and use the newest that is
  * common.
  *
  *   - A field that who does not know it may pass over is optional, and needs no version.
  *   - For all else that the release before could not read, `newest` is raised, and it is said only in
  *     sessions of that version.
  *   - `oldest` is raised when a version is given up, no sooner than with the release after the next.
  */
object Protocol:
  /** Between controllers, and between them and invokers. */
  val Nodes: Versions = Versions(oldest = 2, newest = 4)

  /** Since when the scheduler recognises a flare that is submitted again. */
  val SubmissionIds: Int = 4

  /** Between invokers and runtimes. */
  val Runtimes: Versions = Versions(oldest = 1, newest = 1)

  /** The header of a request to a runtime that says which versions the invoker speaks, and that of its answer
    * which says what the runtime has taken of them.
    */
  val VersionsHeader = "burst-versions"
  val VersionHeader = "burst-version"
