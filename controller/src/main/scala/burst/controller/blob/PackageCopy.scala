package burst.controller.blob

import burst.protocol.PackageId

/** A stored copy of a package: no two copies have the same name, so that deleting one, however late, never
  * removes another.
  */
final case class PackageCopy(id: PackageId, tag: String):
  /** The name of its file or object. */
  def name: String = if tag.isEmpty then id.value else s"${id.value}.$tag"

object PackageCopy:
  def fresh(id: PackageId): PackageCopy = PackageCopy(id, java.util.UUID.randomUUID.toString)

  def parse(name: String): Option[PackageCopy] =
    val (id, tag) = name.span(_ != '.')
    PackageId.parse(id).map(PackageCopy(_, tag.stripPrefix("."))).filter(_.name == name)
