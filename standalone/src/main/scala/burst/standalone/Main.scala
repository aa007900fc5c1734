package burst.standalone

import burst.node.{Node, Role}

/** The process that `burst standalone` turns into. */
object Main:
  def main(arguments: Array[String]): Unit = Node.run(Role.Standalone)(Platform.start)
