package burst.controller.http

import org.apache.pekko.util.ByteString

/** How deep JSON is nested, told before it is parsed: what walks a parsed document recurses, and a few
  * megabytes of brackets would overflow its stack, which ends the whole process.
  */
object JsonDepth:
  def exceeds(bytes: ByteString, limit: Int): Boolean =
    var depth = 0
    var deepest = 0
    var inString = false
    var escaped = false
    val iterator = bytes.iterator
    while iterator.hasNext && deepest <= limit do
      val byte = iterator.next()
      if inString then
        if escaped then escaped = false
        else if byte == '\\' then escaped = true
        else if byte == '"' then inString = false
      else if byte == '"' then inString = true
      else if byte == '[' || byte == '{' then
        depth += 1
        deepest = deepest.max(depth)
      else if byte == ']' || byte == '}' then depth -= 1
    deepest > limit
