package burst.controller.definition

/** The languages of programs. All versions of a family run on the same runtime; they are names that
  * OpenWhisk's clients know.
  *
  * @param default
  *   the version that the family's name alone stands for
  */
enum KindFamily(val name: String, val default: String, val others: String*):
  case Nodejs extends KindFamily("nodejs", "20", "22", "18", "16", "14", "12", "10")
  case Python extends KindFamily("python", "3.10", "3.13", "3.12", "3.11", "3.9", "3.8", "3.7", "3.6", "3")

  /** Executables that speak the action loop; they are not compiled here. */
  case Go extends KindFamily("go", "1.20", "1.22", "1.21", "1.19", "1.18", "1.17", "1.15")
  case Swift extends KindFamily("swift", "5.3", "5.7", "5.4", "5.1")

  /** Programs built with our SDK. */
  case Rust extends KindFamily("rust", "1.34")

  /** A program in an image of its own, which receives code if there is any; with OpenWhisk's skeleton image,
    * an executable that is started for each run.
    */
  case Blackbox extends KindFamily("blackbox", "")

  /** Other actions, one after the other: it runs no program of its own. */
  case Sequence extends KindFamily("sequence", "")

  def versions: Seq[String] = if default.isEmpty then Seq.empty else default +: others

  /** Whether a machine runs several calls of one program at once. */
  def isConcurrent: Boolean = this == Nodejs

object KindFamily:
  /** The kind under which invokers know executables that are started for each run, as with OpenWhisk's
    * skeleton.
    */
  val Skeleton = "skeleton"

  /** The name that clients see for a kind that invokers received. */
  def shown(kind: String): String = if kind == Skeleton then Blackbox.name else kind

  /** Whether an image is the one that clients use for executables (`--native`). */
  def isSkeleton(image: String): Boolean = image.takeWhile(_ != ':').endsWith("openwhisk/dockerskeleton")

/** A kind as it is stored and shown, such as `python:3.10`. */
object Kind:
  /** Resolves the kind in a request: a family, or one of its versions, or its `default`. `rust` alone stays
    * unchanged: it is the kind of definitions that were deployed through our own API.
    */
  def resolve(text: String): Option[String] = text.split(":", 2) match
    case Array(KindFamily.Rust.name) => Some(text)
    case Array(name) => family(name).map(shown(_, None))
    case Array(name, "default") => family(name).filter(_.default.nonEmpty).map(shown(_, None))
    case Array(name, version) =>
      family(name).filter(_.versions.contains(version)).map(shown(_, Some(version)))
    case _ => None

  private def shown(family: KindFamily, version: Option[String]): String =
    if family.default.isEmpty then family.name
    else s"${family.name}:${version.getOrElse(family.default)}"

  /** The family of a resolved kind. */
  def familyOf(kind: String): Option[KindFamily] = family(kind.takeWhile(_ != ':'))

  def isSequence(kind: String): Boolean = familyOf(kind).contains(KindFamily.Sequence)

  private def family(name: String): Option[KindFamily] = KindFamily.values.find(_.name == name)

  /** The names under which each may be requested. */
  val Names: Seq[String] = KindFamily.values.toSeq.flatMap: family =>
    if family.default.isEmpty then Seq(family.name)
    else s"${family.name}:default" +: family.versions.map(version => s"${family.name}:$version")
